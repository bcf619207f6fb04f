import { createGate } from '@gateway/simulator/gate';
import { readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { parseBuffer } from 'music-metadata';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { toneWithPauses } from '../../testing/audio-files.ts';
import { LONG_AUDIO, startAudio, type TestAudio } from '../../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());
// Whatever becomes of it, neither the recording nor a part of it stays.
afterEach(() => audio.nothingLeft());

const PATH = '/v1/audio/transcriptions';
/** 10 s, which a model of 4 s gets in three parts: cut at 3.3 and at 6.8. */
const TALK = toneWithPauses(10, [
  [1, 1.5],
  [3, 3.6],
  [6.5, 7.1],
]);
const CUTS = [0, 3.3, 6.8, 10];

function post(
  to: TestAudio,
  parts: Readonly<Record<string, string | File>>,
  init: RequestInit = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'short-whisper', file: TALK, ...parts }))
    form.append(name, value);
  return fetch(`${to.url}${PATH}`, { method: 'POST', body: form, headers: to.headersFor(), ...init });
}

const bodyOf = async (reply: Response): Promise<Record<string, unknown>> => {
  expect(reply.status).toBe(200);
  return z.record(z.string(), z.unknown()).parse(await reply.json());
};

async function sentParts() {
  const forms = await Promise.all(audio.simulator.requests.map((request) => request.form()));
  return Promise.all(
    forms.map(async (form) => {
      const file = form.get('file');
      if (!(file instanceof File)) throw new Error('no file');
      const { format } = await parseBuffer(new Uint8Array(await file.arrayBuffer()));
      return { form, file, seconds: format.duration ?? 0, format };
    }),
  );
}

test('a recording that is too long is cut in its pauses, to the sample, and every part is sent whole', async () => {
  await bodyOf(await post(audio, { language: 'en', prompt: 'Names.' }));
  const parts = await sentParts();
  expect(parts.map(({ seconds }) => seconds).toSorted()).toEqual(
    [3.2, 3.3, 3.5].map((seconds) => expect.closeTo(seconds, 1)),
  );
  expect(parts.reduce((sum, { seconds }) => sum + seconds, 0)).toBeCloseTo(10, 3);
  for (const { form, file, format } of parts) {
    expect(file).toMatchObject({ name: 'talk.flac', type: 'audio/flac' });
    expect(format).toMatchObject({ sampleRate: 16_000, numberOfChannels: 1, lossless: true });
    expect(form.get('language')).toBe('en');
    expect(form.get('prompt')).toBe('Names.');
  }
});

const Timed = (from: number, to: number) => [
  expect.objectContaining({ start: expect.closeTo(from, 1) }),
  expect.objectContaining({ end: expect.closeTo(to, 1) }),
];

test('every format comes with the times of the whole', async () => {
  const verbose = await bodyOf(await post(audio, { response_format: 'verbose_json' }));
  expect(verbose).toMatchObject({
    duration: expect.closeTo(10, 2),
    language: 'english',
    usage: { seconds: 12 },
  });
  const { segments } = verbose;
  if (!Array.isArray(segments)) throw new Error('no segments');
  expect(segments.map(({ id }) => id)).toEqual(segments.map((_, index) => index));
  for (const [from, to] of [
    [CUTS[0], CUTS[1]],
    [CUTS[1], CUTS[2]],
    [CUTS[2], CUTS[3]],
  ]) {
    const [begin, end] = Timed(from ?? 0, to ?? 0);
    expect(segments).toContainEqual(begin);
    expect(segments).toContainEqual(end);
  }
  const text = String(verbose.text);
  expect(await bodyOf(await post(audio, {}))).toEqual({ text, usage: { type: 'duration', seconds: 12 } });
  expect(await (await post(audio, { response_format: 'text' })).text()).toBe(`${text}\n`);
  const srt = await (await post(audio, { response_format: 'srt' })).text();
  expect(srt.match(/^\d+$/gm)).toEqual(segments.map((_, index) => String(index + 1)));
  expect(srt).toMatch(/^00:00:03,3\d\d --> /m);
  expect(srt).toMatch(/ --> 00:00:(?:10,000|09,9\d\d)$/m);
  const vtt = await (await post(audio, { response_format: 'vtt' })).text();
  expect(vtt).toMatch(/^WEBVTT\n/);
  expect(vtt.match(/-->/g)).toHaveLength(segments.length);
});

test('words alone come with the times of the whole too', async () => {
  const verbose = await bodyOf(
    await post(audio, { response_format: 'verbose_json', 'timestamp_granularities[]': 'word' }),
  );
  expect(verbose).not.toHaveProperty('segments');
  const { words } = verbose;
  if (!Array.isArray(words)) throw new Error('no words');
  const starts = words.map(({ start }) => Number(start));
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  expect(starts.at(-1)).toBeGreaterThan(CUTS[2] ?? 0);
});

test('speakers of different parts are not taken for the same', async () => {
  const reply = await post(audio, { model: 'short-diarize', response_format: 'diarized_json' });
  const { segments, text } = await bodyOf(reply);
  if (!Array.isArray(segments)) throw new Error('no segments');
  const speakersOf = (from: number, to: number) =>
    new Set(
      segments.filter(({ start }) => start >= from - 0.1 && start < to - 0.1).map(({ speaker }) => speaker),
    );
  const all = [speakersOf(0, 3.3), speakersOf(3.3, 6.8), speakersOf(6.8, 10)];
  expect(new Set(all.flatMap((some) => [...some])).size).toBe(all.reduce((sum, { size }) => sum + size, 0));
  expect(text).toContain('A: ');
});

test.for(['short-whisper', 'short-4o', 'short-diarize'])(
  'deltas of %s come in order, make up the text, and the last event has it whole',
  async (model) => {
    const response_format = model === 'short-diarize' ? 'diarized_json' : 'json';
    const answer = await post(audio, { model, response_format, stream: 'true' });
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(answer.headers.get('x-gateway-channel')).toBe('one');
    let text = '';
    const starts: number[] = [];
    const types: unknown[] = [];
    for await (const { json } of readSse(answer)) {
      if (typeof json !== 'object' || json === null) throw new Error('no event');
      if ('type' in json) types.push(json.type);
      if ('delta' in json) text += String(json.delta);
      if ('start' in json) starts.push(Number(json.start));
      if ('text' in json && types.at(-1) === 'transcript.text.done') expect(json.text).toBe(text);
    }
    expect(types.filter((type) => type === 'transcript.text.delta').length).toBeGreaterThanOrEqual(3);
    expect(types.at(-1)).toBe('transcript.text.done');
    expect(types.filter((type) => type === 'transcript.text.done')).toHaveLength(1);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts.length > 2).toBe(model === 'short-diarize');
    expect((await sentParts()).some(({ form }) => form.has('stream'))).toBe(false);
  },
);

test('a file that is too large is cut to parts that are not', async () => {
  // 148,384 bytes hold 4 s.
  await bodyOf(await post(audio, { model: 'small-whisper' }));
  const parts = await sentParts();
  expect(parts).toHaveLength(3);
  for (const { file } of parts) expect(file.size).toBeLessThanOrEqual(148_384);
});

test('a channel that takes it whole is called before anything is cut', async () => {
  const answer = await post(audio, { model: 'short-then-long' });
  expect(answer.headers.get('x-gateway-channel')).toBe('two');
  expect(await sentParts()).toMatchObject([{ file: { name: 'talk.wav', size: TALK.size } }]);
});

test('parts are sent side by side, but no more at a time than configured', async () => {
  const gates = [createGate(), createGate(), createGate()];
  for (const gate of gates) audio.simulator.script(PATH, { json: { text: 'part' }, gate: gate.opened });
  const answering = post(audio, {});
  await waitFor(() => audio.simulator.requests.length === 2);
  gates[1]?.open();
  await waitFor(() => audio.simulator.requests.length === 3);
  for (const gate of gates) gate.open();
  expect(await bodyOf(await answering)).toEqual({ text: 'part part part' });
});

test('what is charged is what the parts are billed for', async () => {
  await bodyOf(await post(audio, {}));
  // 12 s at 0.006 dollars for a minute.
  expect(await audio.lastLine()).toMatchObject({
    costMicroUsd: 1200,
    parts: 3,
    audioSeconds: 10,
    model: 'short-whisper',
  });
});

test('a part that fails is repeated alone', async () => {
  audio.simulator.script(PATH, { status: 503, json: { error: { message: 'no', type: 'server_error' } } });
  await bodyOf(await post(audio, {}));
  expect(audio.simulator.requests).toHaveLength(4);
  await waitFor(() => audio.jobs.length === 1);
  expect(audio.jobs[0]).toMatchObject({ outcome: 'completed', attempts: 1 });
});

test('a part that is refused ends all of it, with the words of the refusal', async () => {
  const error = { message: 'Not this one.', type: 'invalid_request_error', param: 'file', code: 'bad' };
  for (let part = 0; part < 3; part += 1) audio.simulator.script(PATH, { status: 400, json: { error } });
  const answer = await post(audio, {});
  expect(answer.status).toBe(400);
  expect(await answer.json()).toEqual({ error });
});

test('a caller who leaves ends every part', async () => {
  for (let part = 0; part < 2; part += 1) audio.simulator.script(PATH, { slowFirstByteMs: 60_000, json: {} });
  const leaving = new AbortController();
  post(audio, {}, { signal: leaving.signal }).catch(() => undefined);
  await waitFor(() => audio.simulator.requests.length === 2);
  leaving.abort();
  for (const request of audio.simulator.requests) expect(await request.closed).toBe('aborted');
});

test.for([
  [
    'is not installed',
    { ffmpeg: { program: 'no-such-program', searchPath: '/nowhere' } },
    413,
    'file_too_large',
    /ffmpeg is not installed/,
  ],
  ['would have to cut too much', { maxSeconds: 9 }, 413, 'file_too_large', /longer than the 9 seconds/],
] as const)('where ffmpeg %s the caller is sent so', async ([, setting, status, code, words]) => {
  const other = await startAudio({ longAudio: { ...LONG_AUDIO, ...setting } });
  try {
    await other.startWorker();
    const answer = await post(other, {});
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.json()).toMatchObject({
      error: { code, param: 'file', message: expect.stringMatching(words) },
    });
    await other.nothingLeft();
  } finally {
    await other.close();
  }
});

test("a recording that ffmpeg cannot decode is the caller's to mend", async () => {
  const bytes = Buffer.from(await TALK.arrayBuffer());
  // Its headers promise 10 s of a compression that nobody knows.
  bytes.writeUInt16LE(0x7777, 20);
  const answer = await post(audio, { file: new File([bytes], 'x.wav') });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: 'file' } });
  expect(audio.simulator.requests).toHaveLength(0);
});

test('the uploads area holds the recording and its parts while they are sent, and nothing afterwards', async () => {
  const gate = createGate();
  for (let part = 0; part < 3; part += 1)
    audio.simulator.script(PATH, { json: { text: 'part' }, gate: gate.opened });
  const answering = post(audio, {});
  await waitFor(() => audio.simulator.requests.length === 2);
  expect(await audio.uploaded()).toHaveLength(4);
  gate.open();
  await bodyOf(await answering);
});
