import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { postTranscription, startAudio, type TestAudio } from '../testing/start-audio.ts';
import { PASSING, REFUSED, VALID } from '../testing/transcription-forms.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const ErrorBody = z.object({ error: z.looseObject({ message: z.string() }) });

test.for(Object.entries(REFUSED))('%s is refused and leaves no file', async ([, refusal]) => {
  const answer = await postTranscription(audio, await refusal.parts());
  const { error } = ErrorBody.parse(await answer.json());
  expect(answer.status).toBe(refusal.status ?? 400);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(error).toMatchObject({
    type: 'invalid_request_error',
    code: refusal.code,
    param: refusal.param,
    message: typeof refusal.message === 'string' ? refusal.message : expect.stringMatching(refusal.message),
  });
  expect(audio.simulator.requests.length).toBe(0);
  await audio.nothingLeft();
});

test.for(Object.entries(PASSING))('%s passes', async ([, parts]) => {
  const answer = await postTranscription(audio, parts);
  expect(await answer.json()).toMatchObject({ text: expect.any(String) });
  expect(answer.status).toBe(200);
});

test('a model outside of the key looks as if it did not exist', async () => {
  const answer = await postTranscription(audio, VALID, { headers: audio.headersFor({ models: ['gpt-*'] }) });
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ error: { code: 'model_not_found' } });
  await audio.nothingLeft();
});
