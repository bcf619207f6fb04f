import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Over two edges and two text services, as they are started. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'admin'],
    replicas: { edge: 2, text: 2 },
    restarts: false,
  });
});
afterAll(() => gateway?.close());

/** As many requests at once, on the edges in turn. */
const ask = ({ key }: MadeKey, model: string, count: number): Promise<Response[]> => {
  const edges = [gateway.stack.edgeUrl, gateway.stack.process('edge-2').url];
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const reply = await fetch(`${edges[index % edges.length]}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, input: 'hello', store: false }),
      });
      return new Response(await reply.text(), reply);
    }),
  );
};
const passed = (replies: readonly Response[]) => replies.filter(({ status }) => status === 200).length;

test("exactly six of ten requests pass a team's limit for a pattern; a model of another name passes", async () => {
  const limits = { models: { 'gpt-*': { requestsPerMinute: 6 } } };
  await askAdmin(gateway.stack, 'POST', '/admin/v1/teams', { name: 'search', limits });
  const keys = [
    await createKey(gateway.stack, { name: 'one', team: 'search' }),
    await createKey(gateway.stack, { name: 'two', team: 'search' }),
  ];
  const startedAtMs = performance.now();
  const replies = (await Promise.all(keys.map((key) => ask(key, 'gpt-5.2', 5)))).flat();
  // One more for every ten seconds that it took: the bucket keeps filling.
  const filled = Math.floor((performance.now() - startedAtMs) / 10_000);
  expect(passed(replies)).toBeGreaterThanOrEqual(6);
  expect(passed(replies)).toBeLessThanOrEqual(6 + filled);
  const refused = replies.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(10 - passed(replies));
  for (const reply of refused) {
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(reply.headers.get('x-ratelimit-limit-requests')).toBe('6');
    expect(await reply.json()).toMatchObject({
      error: {
        type: 'requests',
        code: 'rate_limit_exceeded',
        message: expect.stringContaining("of 'gpt-*': Limit 6"),
      },
    });
  }
  // Served by the same model of the provider: what counts is the name that the caller used.
  for (const key of keys) expect(passed(await ask(key, 'alias', 5))).toBe(5);
});

test("a key's own limit of tokens for a model refuses what is larger, for this model only", async () => {
  const limits = { models: { alias: { tokensPerMinute: 1 } } };
  const key = await createKey(gateway.stack, { name: 'small', limits });
  const [reply] = await ask(key, 'alias', 1);
  expect(reply?.status).toBe(429);
  expect(reply?.headers.get('x-should-retry')).toBe('false');
  expect(passed(await ask(key, 'gpt-5.2', 3))).toBe(3);
});
