import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silence } from './testing/audio-files.ts';
import { postTranscription, startAudio, type TestAudio, TRANSCRIPTIONS_PATH } from './testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio({ keepAliveMs: 20 });
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const COMMENT = ': keepalive\n\n';

const SPEECH_PATH = '/v1/audio/speech';
const speak = (format: 'sse' | 'audio') =>
  fetch(`${audio.url}${SPEECH_PATH}`, {
    method: 'POST',
    body: JSON.stringify({
      ...{ model: 'gpt-4o-mini-tts', input: 'Good morning to you.', voice: 'alloy' },
      stream_format: format,
    }),
    headers: { 'content-type': 'application/json', ...audio.headersFor() },
  });
const transcribe = (model: string, format = 'json') =>
  postTranscription(audio, [
    ['model', model],
    ['stream', 'true'],
    ['response_format', format],
    ['file', silence(2)],
  ]);

interface Kind {
  readonly what: string;
  readonly path: string;
  readonly send: () => Promise<Response>;
  readonly last: RegExp;
}
const SPEECH: Kind = {
  what: 'speech',
  path: SPEECH_PATH,
  send: () => speak('sse'),
  last: /"type":\s*"speech\.audio\.done".*\n\n/,
};
const TRANSCRIPTS: readonly Kind[] = ['gpt-4o-transcribe', 'whisper-1'].map((model) => ({
  what: `a transcript of ${model}`,
  path: TRANSCRIPTIONS_PATH,
  send: () => transcribe(model),
  last: /"type":\s*"transcript\.text\.done".*\n\n/,
}));

/** The whole stream; the provider answers once the caller has got three comments, and goes on after three more. */
async function readKeptAlive({ path, send }: Kind, ...scripts: ScriptedReply[]): Promise<string> {
  const [gate, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  for (const script of scripts)
    audio.simulator.script(path, { ...script, gate: gate.promise, resume: resume.promise });
  const reply = await send();
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  let text = '';
  for await (const chunk of reply.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.split(COMMENT).length > 3) gate.resolve();
    if (text.split(COMMENT).length > 6) resume.resolve();
  }
  return text;
}

test.for([SPEECH, ...TRANSCRIPTS])('$what: a caller is kept alive until the first event', async (kind) => {
  const text = await readKeptAlive(kind, {});
  expect(text).toMatch(/^(?:: keepalive\n\n){3}/);
  expect(text).toMatch(kind.last);
  expect(await audio.lastLine()).toMatchObject({ status: 200, channel: 'one', error: undefined });
});

test.for([SPEECH, ...TRANSCRIPTS.slice(0, 1)])('$what: silence between events is broken', async (kind) => {
  const text = await readKeptAlive(kind, { stallAfter: 1 });
  expect(text).toMatch(/^data: .*\n\n(?:: keepalive\n\n)+/m);
  expect(text).toMatch(kind.last);
});

test.for([SPEECH, ...TRANSCRIPTS])(
  '$what: a caller who was kept alive gets the error in the stream',
  async (kind) => {
    const refusal = { message: 'Not so.', type: 'invalid_request_error', code: 'no_such_thing', param: 'x' };
    const text = await readKeptAlive(kind, { status: 400, json: { error: refusal } });
    const { data = '' } = /event: error\ndata: (?<data>.*)\n\n$/.exec(text)?.groups ?? {};
    expect(JSON.parse(data)).toMatchObject({ type: 'error', message: 'Not so.', error: refusal });
    expect((await audio.lastLine()).error).toBeDefined();
  },
);

test('after the head another channel still speaks', async () => {
  const text = await readKeptAlive(SPEECH, { status: 503 }, {});
  expect(text).toMatch(SPEECH.last);
  expect(await audio.lastLine()).toMatchObject({ channel: 'two', attempts: 2 });
});

test('what is no event stream has no words for silence: its errors have their status', async () => {
  const gate = Promise.withResolvers<void>();
  audio.simulator.script(SPEECH_PATH, { gate: gate.promise, status: 400 });
  audio.simulator.script(TRANSCRIPTIONS_PATH, { gate: gate.promise, status: 400 });
  const replies = [speak('audio'), transcribe('whisper-1', 'srt')];
  await Promise.all([audio.simulator.nextRequest(), audio.simulator.nextRequest()]);
  // Meanwhile another caller is kept alive.
  await readKeptAlive(SPEECH, {});
  gate.resolve();
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([400, 400]);
});
