import { BatchResultLine } from '@gateway/contracts/batch';
import { PublicJob } from '@gateway/contracts/jobs';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startAudio, type TestAudio } from './testing/start-audio.ts';

/** Much speech at once, as lines of JSON under one job. */

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
beforeEach(() => audio.reset());
afterAll(() => audio.close());

const JOBS = '/v1/audio/jobs';
const lineOf = (custom_id: string, url = '/v1/audio/speech', more = {}) =>
  JSON.stringify({
    custom_id,
    method: 'POST',
    url,
    body: { model: 'tts-1', voice: 'alloy', input: `Hello ${custom_id}.`, ...more },
  });
const post = (body: string) =>
  audio.call(JOBS, { method: 'POST', headers: { 'content-type': 'application/jsonl' }, body });
const Spoken = z.object({ content_type: z.string(), b64_json: z.base64() });

test('each line of speech is made once, and is base64 in the result', async () => {
  const reply = await post(`${lineOf('one')}\n${lineOf('two', undefined, { response_format: 'wav' })}`);
  expect(reply.status).toBe(202);
  const path = reply.headers.get('location') ?? '';
  const done = await waitFor(async () => {
    const job = PublicJob.parse(await (await audio.call(path)).json());
    return job.status === 'completed' && job;
  });
  expect(done).toMatchObject({ kind: 'audio.batch', counts: { total: 2, completed: 2, failed: 0 } });
  const text = await (await audio.call(`${path}/result`)).text();
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => BatchResultLine.parse(JSON.parse(line)));
  expect(lines.map(({ custom_id }) => custom_id)).toEqual(['one', 'two']);
  const bodies = lines.map(({ response }) => Spoken.parse(response?.body));
  expect(bodies.map(({ content_type }) => content_type)).toEqual(['audio/mpeg', 'audio/wav']);
  const alone = await audio.call(`${JOBS}/${lines[1]?.id}/result`);
  expect(Buffer.from(bodies[1]?.b64_json ?? '', 'base64')).toEqual(Buffer.from(await alone.arrayBuffer()));
  expect(audio.simulator.requests).toHaveLength(2);
});

test('a recording is refused with the way to send it, and a key without speech may send no lines of it', async () => {
  const refused = await post(lineOf('one', '/v1/audio/transcriptions'));
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain('send them one by one, with Prefer: respond-async');
  const headers = {
    'content-type': 'application/jsonl',
    ...audio.headersFor({ endpoints: ['transcriptions'] }),
  };
  const body = lineOf('one');
  const forbidden = await fetch(new URL(JOBS, audio.url), { method: 'POST', headers, body });
  expect(forbidden.status).toBe(403);
  expect(audio.simulator.requests).toEqual([]);
});
