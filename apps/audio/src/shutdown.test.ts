import { readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silence } from './testing/audio-files.ts';
import { startAudio, type TestAudio } from './testing/start-audio.ts';

let audio: TestAudio;
beforeEach(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterEach(() => audio.close());

const drainDeadline = () => audio.deadline.abort(new Error('drain deadline passed'));

const speak = () =>
  fetch(`${audio.url}/v1/audio/speech`, {
    method: 'POST',
    body: JSON.stringify({ model: 'tts-1', input: 'Good morning.', voice: 'alloy' }),
    headers: { 'content-type': 'application/json', ...audio.headersFor() },
  });

function transcribe(stream: boolean): Promise<Response> {
  const form = new FormData();
  form.append('model', 'gpt-4o-transcribe');
  form.append('stream', String(stream));
  form.append('file', silence(1));
  return fetch(`${audio.url}/v1/audio/transcriptions`, {
    method: 'POST',
    body: form,
    headers: audio.headersFor(),
  });
}

async function expectShuttingDown(answer: Response): Promise<void> {
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(answer.headers.get('x-should-retry')).toBe('true');
  expect(await answer.json()).toMatchObject({ error: { code: 'shutting_down' } });
}

test('at the drain deadline speech that has not begun is refused, and its provider is stopped', async () => {
  audio.simulator.script({ body: 'never', slowFirstByteMs: 60_000 });
  const answer = speak();
  const sent = await audio.simulator.nextRequest();
  drainDeadline();
  await expectShuttingDown(await answer);
  expect(await sent.closed).toBe('aborted');
});

test('at the drain deadline speech that has begun is broken off', async () => {
  audio.simulator.script({ body: 'first,second', cuts: [6], stallAfter: 1 });
  const answer = await speak();
  drainDeadline();
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(await audio.lastLine()).toMatchObject({ error: 'shutting_down', left: false });
});

test('at the drain deadline a caller who waits for a transcript gets a 503 with Retry-After', async () => {
  audio.simulator.script({ json: {}, slowFirstByteMs: 60_000 });
  const answer = transcribe(false);
  await audio.simulator.nextRequest();
  drainDeadline();
  await expectShuttingDown(await answer);
  expect(await waitFor(() => audio.jobs[0])).toMatchObject({ outcome: 'cancelled' });
  await audio.nothingLeft();
});

test('at the drain deadline a stream of deltas ends with an error event', async () => {
  audio.simulator.script({
    sse: 'data: {"type":"transcript.text.delta","delta":"Good "}\n\ndata: {}\n\n',
    stallAfter: 1,
  });
  const events = [];
  for await (const event of readSse(await transcribe(true))) {
    events.push(event);
    drainDeadline();
  }
  expect(events.at(-1)).toMatchObject({ event: 'error', json: { error: { code: 'shutting_down' } } });
  await audio.nothingLeft();
});
