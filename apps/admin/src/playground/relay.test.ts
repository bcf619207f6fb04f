import { freePort } from '@gateway/testkit/free-port';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ALL } from '../sessions/scope.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { cookieOf, useAdmin } from '../testing/use-admin.ts';

/** Where no edge is. */
const edgeUrl = `http://127.0.0.1:${await freePort()}`;
const admin = useAdmin({ env: { EDGE_URL: edgeUrl } });

const Key = z.looseObject({ id: z.string() });
const Refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

async function relayed(headers: Record<string, string>) {
  const made = await fetch(`${admin.url}/admin/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: '{"name":"plays"}',
  });
  const { id } = Key.parse(await made.json());
  const reply = await fetch(`${admin.url}/admin/v1/playground/v1/responses`, {
    method: 'POST',
    headers: { 'x-playground-key': id, origin: admin.url, 'sec-fetch-site': 'same-origin', ...headers },
    body: '{}',
  });
  return { status: reply.status, ...Refusal.parse(await reply.json()) };
}

test('an edge that cannot be reached is said, and what to check', async () => {
  const { status, error } = await relayed({ authorization: `Bearer ${TOKEN}` });
  expect([status, error.code]).toEqual([503, 'service_unavailable']);
  expect(error.message).toContain('EDGE_URL');
});

test('a viewer, who may change nothing, sends no requests', async () => {
  const cookie = await cookieOf(admin.redis, { role: 'viewer', scope: ALL });
  const { status, error } = await relayed({ cookie });
  expect([status, error.code]).toEqual([403, 'endpoint_not_allowed']);
});
