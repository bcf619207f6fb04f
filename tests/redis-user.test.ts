import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRedisGroup } from '@gateway/redis/testing/start-redis-group';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createKey } from './support/admin-keys.ts';
import { wavFile } from './support/media-files.ts';
import { startGateway } from './support/start-gateway.ts';

const PASSWORD = 'pa55word';

/** The rights that the documentation recommends for a user. */
async function documentedRights(user: string): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, '../docs/redis.md'), 'utf8');
  const [, rules = ''] = new RegExp(`^ACL SETUSER ${user} (.+)$`, 'm').exec(text) ?? [];
  return rules.replace('PASSWORD', PASSWORD).split(' ');
}

test('users of Redis and its sentinel with the documented rights are enough for text, media, limits, webhooks and the admin API, also with a new password', async () => {
  const group = await startRedisGroup({ replicas: 0, sentinels: 1 });
  onTestFinished(() => group[Symbol.asyncDispose]());
  const folder = await temporaryFolder();
  onTestFinished(folder.close);
  const [redis, sentinel] = [...group.nodes, ...group.sentinels].map(({ url: server }) => {
    const admin = new Redis(server, { enableReadyCheck: false });
    onTestFinished(() => admin.disconnect());
    return admin;
  });
  if (redis === undefined || sentinel === undefined) throw new Error('both were started');
  await redis.call('ACL', 'SETUSER', 'gateway', ...(await documentedRights('gateway')));
  await sentinel.call('ACL', 'SETUSER', 'watch', ...(await documentedRights('watch')));
  await sentinel.call('ACL', 'SETUSER', 'default', 'resetpass', '-@all');
  const passwordFile = join(folder.path, 'password');
  await writeFile(passwordFile, PASSWORD);
  const url = `${group.url.replace('://', '://gateway@')}?sentinelUser=watch&sentinelPassword=${PASSWORD}`;
  const gateway = await startGateway({ env: { REDIS_URL: url, REDIS_PASSWORD_FILE: passwordFile } });
  onTestFinished(gateway.close);

  const { key } = await createKey(gateway.stack, {
    name: 'limited',
    limits: { requestsPerMinute: 100, tokensPerMinute: 1_000_000, concurrentRequests: 5 },
    budget: { usd: 5, period: 'day' },
  });
  const headers = { authorization: `Bearer ${key}` };
  const ask = async (path: string, init: Parameters<typeof gateway.fetch>[1] = {}) => {
    const reply = await gateway.fetch(path, { ...init, headers: { ...headers, ...init.headers } });
    const text = await reply.text();
    expect(await redis.call('ACL', 'LOG'), path).toEqual([]);
    expect([reply.status, text], path).toEqual([expect.toSatisfy((status) => status < 300), text]);
    return text;
  };
  const text = { model: 'gpt-5.2', input: 'Hello.' };
  const { id } = JSON.parse(await ask('/v1/responses', { json: text }));
  await ask('/v1/responses', { json: { ...text, previous_response_id: id, stream: true } });
  await ask(`/v1/responses/${id}/input_items`);
  await ask(`/v1/responses/${id}`, { method: 'DELETE' });
  await ask('/v1/responses', { json: { ...text, background: true } });
  await ask('/v1/images/generations', { json: { model: 'dall-e-3', prompt: 'A lighthouse' } });
  await ask('/v1/audio/speech', { json: { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'Hello.' } });
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('file', wavFile(1));
  await ask('/v1/audio/transcriptions', { body: form });
  const job = await ask('/v1/images/generations', {
    json: { model: 'dall-e-3', prompt: 'A lighthouse' },
    headers: { prefer: 'respond-async' },
  });
  await gateway.fetch(`/v1/images/jobs/${JSON.parse(job).id}`, { method: 'DELETE', headers });

  const admin = { authorization: `Bearer ${gateway.stack.adminToken}` };
  for (const path of [
    'keys',
    'teams',
    'usage',
    'requests',
    'channels',
    'models',
    'audit',
    'attention',
    'queues',
    'jobs',
    'sessions',
    'webhooks',
  ])
    expect((await fetch(`${gateway.stack.adminUrl}/admin/v1/${path}`, { headers: admin })).status, path).toBe(
      200,
    );
  expect(await redis.call('ACL', 'LOG')).toEqual([]);

  await redis.call('ACL', 'SETUSER', 'gateway', 'resetpass', '>another');
  await writeFile(passwordFile, 'another');
  await redis.call('CLIENT', 'KILL', 'USER', 'gateway');
  await waitFor(async () => (await gateway.fetch('/readyz')).status === 200);
  await ask('/v1/images/generations', { json: { model: 'dall-e-3', prompt: 'A lighthouse' } });
});
