import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { invoiceOf, nameAtProvider, pricedConfiguration } from './ledger/priced-models.ts';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { readBudget } from './support/admin-usage.ts';
import { pngFile, wavFile } from './support/media-files.ts';
import { type Gateway, type GatewayRequest, startGateway } from './support/start-gateway.ts';

/** Limits and budgets hold exactly, although two edges and two of each service count at the same time. */

const AT_ONCE = 50;

let gateway: Gateway;
let edges: readonly string[];
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    configuration: pricedConfiguration,
    replicas: { edge: 2, text: 2, image: 2, 'image-worker': 2, audio: 2, 'audio-worker': 2 },
    env: { WORKER_CONCURRENCY: '16' },
  });
  edges = ['edge', 'edge-2'].map((name) => gateway.stack.process(name).url ?? '');
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

type RequestKind = readonly [name: string, model: string, path: string, request: () => GatewayRequest];

const formOf = (parts: Record<string, string | File>): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  return form;
};
const TEXT = { model: 'gpt-5.2', input: 'hello', max_output_tokens: 100 };
const MESSAGES = [{ role: 'user', content: 'hello' }];
const RESPONSE: RequestKind = ['responses', 'gpt-5.2', '/v1/responses', () => ({ json: TEXT })];
const IMAGE: RequestKind = [
  'images',
  'dall-e-2',
  '/v1/images/generations',
  () => ({ json: { model: 'dall-e-2', prompt: 'a house', size: '256x256', n: 2 } }),
];
const TRANSCRIPT: RequestKind = [
  'transcripts',
  'whisper-1',
  '/v1/audio/transcriptions',
  () => ({ body: formOf({ model: 'whisper-1', file: wavFile(2) }) }),
];
const KINDS: readonly RequestKind[] = [
  RESPONSE,
  [
    'streamed messages, translated',
    'local',
    '/v1/messages',
    () => ({ json: { model: 'local', max_tokens: 100, messages: MESSAGES, stream: true } }),
  ],
  IMAGE,
  [
    'edits',
    'dall-e-2',
    '/v1/images/edits',
    () => ({ body: formOf({ model: 'dall-e-2', prompt: 'x', size: '256x256', image: pngFile() }) }),
  ],
  [
    'speech',
    'tts-1',
    '/v1/audio/speech',
    () => ({ json: { model: 'tts-1', voice: 'alloy', input: 'Hello to all of you out there.' } }),
  ],
  TRANSCRIPT,
];

/** Sends to the edges in turn. */
let turn = 0;
const send = ({ key }: MadeKey, [, , path, request]: RequestKind, signal: AbortSignal | null = null) => {
  const { json, body = null } = request();
  turn += 1;
  return fetch(`${edges[turn % edges.length]}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: json === undefined ? body : JSON.stringify(json),
    signal,
  });
};

async function statusOf(pending: Promise<Response>): Promise<number> {
  const response = await pending;
  await response.arrayBuffer();
  return response.status;
}

/** How many of fifty at once are accepted and how many refused. */
async function atOnce(keys: readonly MadeKey[], kind: RequestKind): Promise<Record<number, number>> {
  const statuses = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) => {
      const key = keys[n % keys.length];
      return key === undefined ? 0 : statusOf(send(key, kind));
    }),
  );
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function timed(run: () => Promise<Record<number, number>>) {
  const startedAtMs = performance.now();
  const counts = await run();
  return { counts, elapsedMs: performance.now() - startedAtMs };
}

/**
 * As many are accepted as the limit allows at once, and as have become free by the time in which all fifty were answered:
 * none on a machine that answers them within ten seconds. The bucket's own exactness is shown with a clock that stands
 * still, beside the scripts.
 */
function expectExactly(counts: Record<number, number>, perMinute: number, elapsedMs: number): void {
  const passed = counts[200] ?? 0;
  expect(counts).toEqual({ 200: passed, 429: AT_ONCE - passed });
  expect(passed).toBeGreaterThanOrEqual(perMinute);
  expect(passed).toBeLessThanOrEqual(perMinute + Math.floor((perMinute * elapsedMs) / 60_000));
}

/** A gate that holds all that reaches the provider. */
function holdAll() {
  const gate = createGate();
  for (let n = 0; n < AT_ONCE; n += 1) gateway.simulator.script({ gate: gate.opened });
  return gate;
}

const budgetOf = (microUsd: number) => ({ usd: microUsd / 1e6, period: 'total' });

/** What is reserved for one request, in micro-dollars. */
async function reservationFor(kind: RequestKind): Promise<number> {
  const rich = await createKey(gateway.stack, { name: 'rich', budget: budgetOf(1e9) });
  const gate = holdAll();
  const asking = statusOf(send(rich, kind));
  await gateway.simulator.nextRequest();
  const { reserved } = await readBudget(gateway.stack, 'keys', rich.id);
  gate.open();
  expect(await asking).toBe(200);
  gateway.simulator.reset();
  return reserved;
}

test.for(KINDS)('a budget for ten accepts ten of fifty %s, and is never overspent', async (kind) => {
  const [, model] = kind;
  const reservation = await reservationFor(kind);
  expect(reservation).toBeGreaterThan(1);
  const budget = 11 * reservation - 1;
  const key = await createKey(gateway.stack, { name: 'ten', budget: budgetOf(budget) });
  const gate = holdAll();
  const statuses: number[] = [];
  const all = Array.from({ length: AT_ONCE }, () =>
    statusOf(send(key, kind)).then((status) => statuses.push(status)),
  );
  await waitFor(() => statuses.length === AT_ONCE - 10, { what: 'that forty are refused' });
  expect(new Set(statuses)).toEqual(new Set([429]));
  await waitFor(() => gateway.simulator.requests.length === 10, { what: 'that ten are sent' });
  expect(await readBudget(gateway.stack, 'keys', key.id)).toEqual({ spent: 0, reserved: 10 * reservation });

  gate.open();
  await Promise.all(all);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  await waitFor(async () => (await readBudget(gateway.stack, 'keys', key.id)).reserved === 0);
  const row = gateway.simulator.ledger()[nameAtProvider(model)];
  const { spent } = await readBudget(gateway.stack, 'keys', key.id);
  expect(spent).toBe(row && invoiceOf(model, row));
  expect(spent).toBeLessThanOrEqual(budget);
});

test("a team's budget is not overspent by the keys that share it", async () => {
  const reservation = await reservationFor(RESPONSE);
  const budget = budgetOf(11 * reservation - 1);
  await askAdmin(gateway.stack, 'POST', '/admin/v1/teams', { name: 'frugal', budget });
  const keys = await Promise.all(
    ['one', 'two', 'three'].map((name) => createKey(gateway.stack, { name, team: 'frugal' })),
  );
  const gate = holdAll();
  const asking = atOnce(keys, RESPONSE);
  await waitFor(() => gateway.simulator.requests.length === 10);
  gate.open();
  const counts = await asking;
  await waitFor(async () => (await readBudget(gateway.stack, 'teams', 'frugal')).reserved === 0);
  const row = gateway.simulator.ledger()['gpt-5.2'];
  expect(row?.requests).toBe(counts[200]);
  const { spent } = await readBudget(gateway.stack, 'teams', 'frugal');
  expect(spent).toBe(row && invoiceOf('gpt-5.2', row));
  expect(spent).toBeLessThanOrEqual(11 * reservation - 1);
});

test.for([
  ['requestsPerMinute', 6, RESPONSE, 1],
  ['imagesPerMinute', 6, IMAGE, 2],
  ['audioSecondsPerMinute', 10, TRANSCRIPT, 2],
] as const)('of fifty at once, %s of %i accepts exactly as many', async ([limit, value, kind, each]) => {
  const key = await createKey(gateway.stack, { name: limit, limits: { [limit]: value } });
  const { counts, elapsedMs } = await timed(() => atOnce([key], kind));
  expectExactly(counts, value / each, elapsedMs);
  expect(gateway.simulator.requests).toHaveLength(counts[200] ?? 0);
});

test('a limit of a team is shared by its keys', async () => {
  await askAdmin(gateway.stack, 'POST', '/admin/v1/teams', {
    name: 'slow',
    limits: { requestsPerMinute: 6 },
  });
  const limits = { requestsPerMinute: 40 };
  const keys = await Promise.all(
    ['one', 'two'].map((name) => createKey(gateway.stack, { name, team: 'slow', limits })),
  );
  const { counts, elapsedMs } = await timed(() => atOnce(keys, RESPONSE));
  expectExactly(counts, 6, elapsedMs);
});

test.for([RESPONSE, IMAGE, TRANSCRIPT])(
  'a caller of %s who leaves frees its slot at once, for either edge',
  async (kind) => {
    const key = await createKey(gateway.stack, { name: 'two slots', limits: { concurrentRequests: 2 } });
    const never = new Promise<void>(() => undefined);
    gateway.simulator.script({ gate: never });
    gateway.simulator.script({ gate: never });
    const leaving = [new AbortController(), new AbortController()];
    const held = Promise.allSettled(leaving.map(({ signal }) => send(key, kind, signal)));
    await gateway.simulator.nextRequest();
    await gateway.simulator.nextRequest();
    expect(await statusOf(send(key, kind))).toBe(429);
    expect(await statusOf(send(key, kind))).toBe(429);

    leaving[0]?.abort();
    // Its lease would stand for a minute, which is longer than this waits.
    await waitFor(async () => (await statusOf(send(key, kind))) === 200);
    await waitFor(async () => (await statusOf(send(key, kind))) === 200);
    leaving[1]?.abort();
    expect((await held).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  },
);
