import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startText, type TextUnderTest } from '../../testing/start-text.ts';

/** Files through OpenAI's own client. */

let server: TestRedis;
let redis: Redis;
let text: TextUnderTest;
let client: OpenAI;
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  text = await startText({ redis, configuration: 'channels: {}\nmodels: {}\n' });
});
beforeEach(() => {
  keys += 1;
  client = new OpenAI({
    apiKey: 'unused',
    baseURL: `${text.url}/v1`,
    maxRetries: 0,
    defaultHeaders: text.identityHeaders({ keyId: `key_files_${keys}` }),
  });
});
afterAll(async () => {
  await text.close();
  redis.disconnect();
  await server.close();
});

const upload = async (content: string | Buffer, more: object = {}) =>
  client.files.create({
    file: await toFile(Buffer.from(content), 'Zeilen für heute.jsonl'),
    purpose: 'batch',
    ...more,
  });

test('a file is uploaded, listed, read and deleted', async () => {
  const file = await upload('{"a":1}\n');
  expect(file).toMatchObject({
    object: 'file',
    bytes: 8,
    filename: 'Zeilen für heute.jsonl',
    purpose: 'batch',
    status: 'processed',
  });
  expect(file.expires_at).toBe(file.created_at + 30 * 86_400);
  expect(await client.files.retrieve(file.id)).toEqual(file);
  expect((await client.files.list()).data).toEqual([file]);
  const content = await client.files.content(file.id);
  expect(await content.text()).toBe('{"a":1}\n');
  expect(content.headers.get('content-disposition')).toContain("filename*=UTF-8''Zeilen%20f%C3%BCr");
  expect(await client.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
  await expect(client.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
  expect((await client.files.list()).data).toEqual([]);
});

test('a file is kept for as long as its upload says', async () => {
  const file = await upload('x', { expires_after: { anchor: 'created_at', seconds: 3600 } });
  expect(file.expires_at).toBe(file.created_at + 3600);
  await expect(upload('x', { expires_after: { anchor: 'created_at', seconds: 60 } })).rejects.toMatchObject({
    status: 400,
    param: 'expires_after.seconds',
  });
});

test('what is too large, too much, without a file or for another purpose is refused, and leaves nothing', async () => {
  await expect(upload(Buffer.alloc(1_000_001))).rejects.toMatchObject({ status: 413, param: 'file' });
  await expect(upload('x', { purpose: 'assistants' })).rejects.toMatchObject({
    status: 400,
    param: 'purpose',
  });
  const form = new FormData();
  form.set('purpose', 'batch');
  const headers = text.identityHeaders();
  const reply = await fetch(`${text.url}/v1/files`, { method: 'POST', headers, body: form });
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: 'file' } }]);
  expect((await client.files.list()).data).toEqual([]);
  await upload(Buffer.alloc(900_000));
  await upload(Buffer.alloc(900_000));
  await expect(upload('x')).rejects.toMatchObject({ status: 429, code: 'result_quota_exhausted' });
});

test('a file is read whatever it is called', async () => {
  const file = await client.files.create({
    file: await toFile(Buffer.from('{}'), `${'a'.repeat(999)}😀.jsonl`),
    purpose: 'batch',
  });
  expect(await (await client.files.content(file.id)).text()).toBe('{}');
});
