import { PublicJob, PublicJobList } from '@gateway/contracts/jobs';
import { createGate } from '@gateway/simulator/gate';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silence } from './testing/audio-files.ts';
import { startAudio, type TestAudio } from './testing/start-audio.ts';

/** Transcriptions and speech as jobs that their caller names. */

let audio: TestAudio;
let otherReplica: string;
let count = 0;
let keyId: string;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
  otherReplica = await audio.startReplica();
});
beforeEach(() => {
  audio.reset();
  count += 1;
  keyId = `key_${count}`;
});
afterAll(() => audio.close());

const SPEECH = '/v1/audio/speech';
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const later = { prefer: 'respond-async' };

const speak = (body: Record<string, unknown> = {}, headers: Record<string, string> = {}, at = audio.url) =>
  audio.call(`${at}${SPEECH}`, {
    method: 'POST',
    keyId,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'tts-1', voice: 'alloy', input: 'Hello there.', ...body }),
  });

function transcribe(
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
  at = audio.url,
) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'gpt-4o-transcribe', ...fields }))
    form.append(name, value);
  form.append('file', silence(12));
  return audio.call(`${at}${TRANSCRIPTIONS}`, { method: 'POST', keyId, headers, body: form });
}

const get = (path: string, headers: Record<string, string> = {}) => audio.call(path, { keyId, headers });
const bytesOf = async (reply: Response) => Buffer.from(await reply.arrayBuffer());

async function endedJob(reply: Response): Promise<string> {
  expect(reply.status).toBe(202);
  const path = reply.headers.get('location') ?? '';
  await waitFor(async () => PublicJob.parse(await (await get(path)).json()).finished_at !== null);
  return path;
}

test('speech under respond-async is a job, whose result is the sound that would have been streamed', async () => {
  const streamed = await bytesOf(await speak());
  const accepted = await speak({}, later);
  const path = await endedJob(accepted);
  expect(path).toMatch(/^\/v1\/audio\/jobs\/job_/);
  expect(await (await get(path)).json()).toMatchObject({ kind: 'audio.speech', status: 'completed' });
  const result = await get(`${path}/result`);
  expect([result.status, result.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  expect(await bytesOf(result)).toEqual(streamed);
  const records = await audio.accounted(keyId, 2);
  expect(records.map(({ consumption, costMicroUsd }) => [consumption.characters, costMicroUsd])).toEqual([
    [12, 180],
    [12, 180],
  ]);
});

test('speech with an idempotency key is made once, on whichever replica it is wanted again', async () => {
  const headers = { 'idempotency-key': `speech-${count}` };
  const gate = createGate();
  audio.simulator.script(SPEECH, { gate: gate.opened });
  const both = Promise.all([speak({}, headers), speak({}, headers, otherReplica)]);
  await audio.simulator.nextRequest();
  gate.open();
  const [one, other] = await both;
  expect(await bytesOf(other)).toEqual(await bytesOf(one));
  expect([one.status, other.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  expect(audio.simulator.requests).toHaveLength(1);
  expect((await speak({ speed: 2 }, headers)).status).toBe(422);
});

test('speech as events is kept as events', async () => {
  const body = { model: 'gpt-4o-mini-tts', stream_format: 'sse' };
  const path = await endedJob(await speak(body, later));
  const events = await collectSse(await get(`${path}/result`));
  expect(events.at(-1)?.json).toMatchObject({ type: 'speech.audio.done' });
});

test('speech that breaks in the middle has no result, and is not made again', async () => {
  audio.simulator.script(SPEECH, { cutAfter: 1 });
  const path = await endedJob(await speak({ input: 'A long text. '.repeat(20) }, later));
  const result = await get(`${path}/result`);
  expect([result.status, result.headers.get('x-should-retry')]).toEqual([502, 'false']);
  expect(audio.simulator.requests).toHaveLength(1);
});

test('a transcription under respond-async has the body and content type that waiting would have given', async () => {
  const waited = await transcribe({ model: 'whisper-1', response_format: 'srt' });
  const path = await endedJob(await transcribe({ model: 'whisper-1', response_format: 'srt' }, later));
  const result = await get(`${path}/result`);
  expect(result.headers.get('content-type')).toBe(waited.headers.get('content-type'));
  expect(await result.text()).toBe(await waited.text());
  await audio.nothingLeft();
});

test("a transcript's deltas are among the events of its job, and go on after the last one received", async () => {
  const gate = createGate();
  audio.simulator.script(TRANSCRIPTIONS, { stallAfter: 2, resume: gate.opened });
  const accepted = await transcribe({ stream: 'true' }, later);
  const path = accepted.headers.get('location') ?? '';
  const whole: { id: string | undefined; data: string; event: string | undefined }[] = [];
  for await (const event of readSse(await get(`${path}/events`))) {
    whole.push(event);
    gate.open();
  }
  const deltas = whole.filter(({ event }) => event !== 'status').map(({ data }) => JSON.parse(data));
  expect(deltas.at(-1)).toMatchObject({ type: 'transcript.text.done' });
  const text = deltas.map(({ delta = '' }) => delta).join('');
  const middle = whole.findIndex(({ data }) => data.includes('transcript.text.delta')) + 1;
  const resumed = await collectSse(await get(`${path}/events`, { 'last-event-id': whole[middle]?.id ?? '' }));
  expect(resumed.map(({ data }) => data)).toEqual(whole.slice(middle + 1).map(({ data }) => data));
  // Once it has been fetched it expires sooner, as the job's last event shows.
  expect(await (await get(`${path}/result`)).json()).toMatchObject({ text });
});

test('a streamed transcription again gets the same events from the start, while it runs', async () => {
  const headers = { 'idempotency-key': `transcript-${count}` };
  const gate = createGate();
  audio.simulator.script(TRANSCRIPTIONS, { stallAfter: 2, resume: gate.opened });
  const first = await transcribe({ stream: 'true' }, headers);
  const again = await transcribe({ stream: 'true' }, headers, otherReplica);
  gate.open();
  expect(await again.text()).toBe(await first.text());
  expect(audio.simulator.requests).toHaveLength(1);
  await audio.nothingLeft();
});

test('speech and transcriptions are listed together', async () => {
  const spoken = await endedJob(await speak({}, later));
  const transcribed = await endedJob(await transcribe({}, later));
  const { data } = PublicJobList.parse(await (await get('/v1/audio/jobs')).json());
  expect(data.map(({ id, kind }) => [`/v1/audio/jobs/${id}`, kind])).toEqual([
    [transcribed, 'audio.transcription'],
    [spoken, 'audio.speech'],
  ]);
});

test('a running transcription is cancelled by its caller', async () => {
  const gate = createGate();
  audio.simulator.script(TRANSCRIPTIONS, { gate: gate.opened });
  const accepted = await transcribe({}, later);
  const path = accepted.headers.get('location') ?? '';
  const provider = await audio.simulator.nextRequest();
  const cancelled = await audio.call(path, { method: 'DELETE', keyId });
  expect(await cancelled.json()).toMatchObject({ status: 'cancelled' });
  expect(await provider.closed).toBe('aborted');
  expect((await get(`${path}/result`)).status).toBe(409);
  await audio.nothingLeft();
});
