import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  postTranscription,
  startAudio,
  type TestAudio,
  TRANSCRIPTIONS_PATH,
} from '../testing/start-audio.ts';
import { notARecording, VALID } from '../testing/transcription-forms.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const url = () => `${audio.url}${TRANSCRIPTIONS_PATH}`;

test.for([
  ['JSON', 'application/json', 'unsupported_content_type'],
  ['a form of another kind', 'application/x-www-form-urlencoded', 'unsupported_content_type'],
  ['a multipart body without boundary', 'multipart/form-data', null],
  ['a multipart body that ends too early', 'multipart/form-data; boundary=x', null],
] as const)('%s is refused', async ([, type, code]) => {
  const answer = await fetch(url(), {
    method: 'POST',
    body: '--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF',
    headers: { ...audio.headersFor(), 'content-type': type },
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error', code } });
  await audio.nothingLeft();
});

test('a compressed body is refused', async () => {
  const answer = await postTranscription(audio, VALID, {
    headers: { ...audio.headersFor(), 'content-encoding': 'gzip' },
  });
  expect(answer.status).toBe(415);
});

test.for(['file', 'another'])(
  'an upload without end, as %s, is refused while it still comes',
  async (name) => {
    const request = httpRequest(url(), {
      method: 'POST',
      headers: { ...audio.headersFor(), 'content-type': 'multipart/form-data; boundary=x' },
    });
    request.on('error', () => undefined);
    const answered = once(request, 'response');
    const pour = () => {
      while (!request.destroyed && request.write(Buffer.alloc(1_000_000)));
    };
    request.on('drain', pour);
    request.write(`--x\r\ncontent-disposition: form-data; name="${name}"; filename="a.wav"\r\n\r\nRIFF`);
    pour();
    const [answer]: IncomingMessage[] = await answered;
    expect(answer?.statusCode).toBe(413);
    request.destroy();
    await audio.nothingLeft();
  },
);

test('a caller who leaves in the middle of an upload leaves no file', async () => {
  const request = httpRequest(url(), {
    method: 'POST',
    headers: { ...audio.headersFor(), 'content-type': 'multipart/form-data; boundary=x' },
  });
  request.on('error', () => undefined);
  request.write('--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF');
  request.write(Buffer.alloc(500_000));
  await waitFor(async () => (await audio.uploaded()).length === 1, { what: 'the upload' });
  request.destroy();
  await audio.nothingLeft();
  expect(await audio.lastLine()).toMatchObject({ left: true });
  expect(audio.jobs).toEqual([]);
});

test('a full queue refuses before anything is stored', async () => {
  const full = await startAudio({ maxWaiting: 1 });
  try {
    const first = postTranscription(full, VALID);
    await waitFor(async () => (await full.uploaded()).length === 1);
    await waitFor(async () => {
      const answer = await postTranscription(full, [
        ['model', 'whisper-1'],
        ['file', notARecording('not-even-audio.txt')],
      ]);
      if (answer.status !== 429) return false;
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(await answer.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
      return true;
    });
    expect(await full.uploaded()).toHaveLength(1);
    await full.startWorker();
    expect((await first).status).toBe(200);
    await full.nothingLeft();
  } finally {
    await full.close();
  }
});

test('while Redis is away callers get a 503 with Retry-After at once', async () => {
  const away = await startAudio();
  try {
    await away.redis.stop();
    const answer = await postTranscription(away, VALID);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } });
    expect(await away.uploaded()).toEqual([]);
  } finally {
    await away.close();
  }
});
