import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type RedisGroup, startRedisGroup } from '@gateway/redis/testing/start-redis-group';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { everyNth } from '@gateway/testkit/is-long-run';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { invoiceOf, pricedConfiguration } from './ledger/priced-models.ts';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { readBudget, readUsageRecords } from './support/admin-usage.ts';
import { type Gateway, type GatewayRequest, startGateway } from './support/start-gateway.ts';

/** The master of a Redis with sentinels is lost in the middle of load, and a replica takes its place. */

let group: RedisGroup;
let gateway: Gateway;
beforeAll(async () => {
  // A busy machine may be silent for a second.
  group = await startRedisGroup({ replicas: 2, downAfterMs: 1500 });
  gateway = await startGateway({ configuration: pricedConfiguration, env: { REDIS_URL: group.url } });
});
afterAll(async () => {
  await gateway?.close();
  await group?.[Symbol.asyncDispose]();
});
beforeEach(() => gateway.simulator.reset());

const TEXT_MODEL = 'gpt-5.2';
const IMAGE_MODEL = 'dall-e-3';
/** What could not be accounted is tried again every fifteen seconds. */
const REPLAY = { timeoutMs: 60_000 };
const CALLERS = 4;

/** The server that is the master now. */
async function findMaster() {
  for (const node of group.nodes) {
    const redis = new Redis(node.url, { lazyConnect: true, retryStrategy: () => null, commandTimeout: 1000 });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      if (/^role:master/m.test(await redis.info('replication'))) return node;
    } catch {
      // It is dead.
    } finally {
      redis.disconnect();
    }
  }
  throw new Error('there is no master');
}

const ask = ({ key }: MadeKey, path: string, init: GatewayRequest = {}) =>
  gateway.fetch(path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
const text = (input: string, more: object = {}) => ({
  json: { model: TEXT_MODEL, input, max_output_tokens: 100, store: false, ...more },
});

/** Callers who ask for text without a pause, and how they were answered. */
function startLoad(key: MadeKey) {
  const answers: string[] = [];
  let isOver = false;
  const call = async () => {
    while (!isOver) {
      const reply = await ask(key, '/v1/responses', text('hello'));
      await reply.text();
      answers.push(reply.status === 200 ? 'ok' : `${reply.status} ${reply.headers.get('retry-after')}`);
    }
  };
  const calling = Array.from({ length: CALLERS }, call);
  return {
    answers,
    served: () => answers.filter((answer) => answer === 'ok').length,
    refused: () => answers.filter((answer) => answer !== 'ok'),
    stop: async () => {
      isOver = true;
      await Promise.all(calling);
    },
  };
}

/** Asks again until something is done; it may be asked while Redis is away. */
const ended = (key: MadeKey, path: string): Promise<string> =>
  waitFor(
    async () => {
      const reply = await ask(key, path);
      const { status } = JSON.parse(await reply.text());
      return status === 'queued' || status === 'in_progress' ? undefined : status;
    },
    { ...REPLAY, what: `the end of ${path}` },
  );

const LOSSES = [
  ['killed', 'SIGKILL'],
  ['frozen', 'SIGSTOP'],
] as const;

/** In a short run it is frozen here, and stopped in `redis-away.test.ts`. */
test.for(everyNth(LOSSES, LOSSES.length, 1))(
  'with the master %s, callers with limits get 503 with a retry-after until the next one is found; streams, jobs, sockets and background responses go on, and each is charged once',
  { timeout: 150_000 },
  async ([, signal]) => {
    const key = await createKey(gateway.stack, {
      name: signal,
      limits: { requestsPerMinute: 100_000, concurrentRequests: 50 },
      budget: { usd: 100, period: 'total' },
    });
    using socket = await connectSocket(`${gateway.url}/v1/responses`, { authorization: `Bearer ${key.key}` });
    const load = startLoad(key);
    await waitFor(() => load.served() >= 2 * CALLERS);

    const stream = (await ask(key, '/v1/responses', text('[[simulate pace=100]]', { stream: true }))).text();
    const background = text('[[simulate slow-first-byte=4000]]', { store: true, background: true });
    const { id } = JSON.parse(await (await ask(key, '/v1/responses', background)).text());
    const image = { model: IMAGE_MODEL, prompt: 'A lighthouse [[simulate slow-first-byte=4000]]' };
    const detached = { json: image, headers: { prefer: 'respond-async' } };
    const job = JSON.parse(await (await ask(key, '/v1/images/generations', detached)).text());

    const master = await findMaster();
    const logged = gateway.lines.length;
    master.kill(signal);
    await waitFor(() => load.refused().length > 0);
    const servedBefore = load.served();
    await waitFor(() => load.served() >= servedBefore + 2 * CALLERS, { what: 'that all goes on' });
    await load.stop();
    for (const answer of load.refused()) expect(answer).toMatch(/^503 \d+$/);
    expect(gateway.lines.slice(logged).map((line) => line.text)).toContainEqual(
      expect.stringContaining('redis is another one'),
    );

    expect(await stream).toContain('event: response.completed');
    expect(await ended(key, `/v1/responses/${id}`)).toBe('completed');
    expect(await ended(key, `/v1/images/jobs/${job.id}`)).toBe('completed');
    socket.send({ type: 'response.create', ...text('hello').json });
    expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
    const waited = await ask(key, '/v1/images/generations', { json: { ...image, prompt: 'A lighthouse' } });
    expect([waited.status, await waited.text()]).toEqual([200, expect.any(String)]);
    expect((await askAdmin(gateway.stack, 'GET', '/admin/v1/keys')).status).toBe(200);
    // It becomes a replica, with what it knew alone thrown away.
    if (signal === 'SIGSTOP') master.kill('SIGCONT');

    const total = load.served() + 5;
    const spool = () => readdir(join(gateway.dataFolder, 'usage-spool'));
    await waitFor(async () => (await spool()).length === 0, { ...REPLAY, what: 'that the spool is empty' });
    const records = await waitFor(
      async () => {
        const found = await readUsageRecords(gateway.stack, key.id);
        return found.length >= total && found;
      },
      { ...REPLAY, what: 'that all is accounted' },
    );
    expect(records.map(({ outcome }) => outcome)).toEqual(records.map(() => 'ok'));
    expect([records.length, new Set(records.map((record) => record.id)).size]).toEqual([total, total]);
    const invoice = Object.entries(gateway.simulator.ledger()).reduce(
      (sum, [model, row]) => sum + invoiceOf(model, row),
      0,
    );
    expect(records.reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0)).toBe(invoice);
    await waitFor(async () => (await readBudget(gateway.stack, 'keys', key.id)).reserved === 0, REPLAY);
    expect((await readBudget(gateway.stack, 'keys', key.id)).spent).toBeLessThanOrEqual(invoice);
  },
);
