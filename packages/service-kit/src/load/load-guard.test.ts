import { ENDPOINTS, isForWork } from '@gateway/contracts/endpoints/endpoints';
import type { KeyPriority } from '@gateway/contracts/identity';
import { afterEach, expect, test } from 'vitest';
import { LoadSettings, parseConfig } from '../config.ts';
import { closeServers, identity, serveAudio, signedFor } from '../fixtures/serve-audio.ts';
import { createMetrics } from '../metrics.ts';
import type { Handler } from '../request/handler.ts';
import { readJsonBody } from '../request/json-body.ts';
import { createLoadGuard } from './load-guard.ts';
import { createProcessLoad, type ProcessLoad } from './process-load.ts';

afterEach(closeServers);

/** A handler whose requests end when the test releases them. */
function holding() {
  const release: (() => void)[] = [];
  const handler: Handler = (_request, response) => void release.push(() => response.end('done'));
  return { release, handler };
}

const low = signedFor({ ...identity, priority: 'low' });
const normal = signedFor(identity);
const high = signedFor({ ...identity, priority: 'high' });

test('with more and more requests in flight those of low keys are refused first, those of high keys last', async () => {
  const { release, handler } = holding();
  const service = await serveAudio({ speech: handler }, { MAX_REQUESTS_IN_FLIGHT: 10 });
  const send = (headers: Record<string, string>) =>
    fetch(`${service.url}/v1/audio/speech`, { method: 'POST', headers });
  const held: Promise<Response>[] = [];
  const holdUntil = async (count: number, headers: Record<string, string>) => {
    while (held.length < count) {
      held.push(send(headers));
      await expect.poll(() => release.length, { timeout: 20_000 }).toBe(held.length);
    }
  };
  await holdUntil(7, low);
  expect((await send(low)).status).toBe(503);
  await holdUntil(9, normal);
  expect((await send(normal)).status).toBe(503);
  await holdUntil(10, high);
  const refused = await send(high);
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.headers.get('x-should-retry')).toBe('true');
  expect(await refused.json()).toMatchObject({
    error: { type: 'service_unavailable_error', code: 'server_is_overloaded' },
  });
  const page = await service.metrics.registry.metrics();
  expect(service.shed).toEqual(Array(3).fill(`${identity.keyId} /v1/audio/speech`));
  for (const priority of ['low', 'normal', 'high'])
    expect(page).toContain(
      `gateway_shed_total{reason="requests_in_flight",priority="${priority}",service="audio"} 1`,
    );

  for (const end of release) end();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  const last = send(low);
  await expect.poll(() => release.length, { timeout: 20_000 }).toBe(11);
  release[10]?.();
  expect((await last).status).toBe(200);
});

test('a full service still answers who reads results or cancels, health and metrics', async () => {
  const { release, handler } = holding();
  const service = await serveAudio({ speech: handler }, { MAX_REQUESTS_IN_FLIGHT: 2 });
  const held = fetch(`${service.url}/v1/audio/speech`, { method: 'POST', headers: normal });
  await expect.poll(() => release.length, { timeout: 20_000 }).toBe(1);
  const second = await fetch(`${service.url}/v1/audio/jobs/job_1`, { headers: normal });
  expect(second.status).toBe(200);
  for (const path of ['/healthz', '/metrics']) expect((await fetch(service.url + path)).status).toBe(200);
  release[0]?.();
  await held;
});

/** Reads a JSON body, and holds it until the test releases it. */
function readingBodies() {
  const release: (() => void)[] = [];
  const handler: Handler = async (request, response) => {
    await readJsonBody(request, { maxBytes: 1e6, maxDepth: 10 });
    release.push(() => response.end('done'));
  };
  return { release, handler };
}

const bodyOf = (bytes: number): string => JSON.stringify({ text: 'x'.repeat(bytes - 11) });

/** The same without an announced length. */
function* inPieces(text: string): Generator<Uint8Array> {
  for (let at = 0; at < text.length; at += 100) yield Buffer.from(text.slice(at, at + 100));
}

test.for(['announced', 'chunked'] as const)(
  'bodies in memory are bounded (%s), but the one that is there alone is let in',
  async (kind) => {
    const { release, handler } = readingBodies();
    const service = await serveAudio({ speech: handler }, { MAX_BODY_BYTES_IN_FLIGHT: 1000 });
    const send = (bytes: number, priority = normal) =>
      fetch(`${service.url}/v1/audio/speech`, {
        method: 'POST',
        headers: { ...priority, 'content-type': 'application/json' },
        ...(kind === 'announced'
          ? { body: bodyOf(bytes) }
          : { body: ReadableStream.from(inPieces(bodyOf(bytes))), duplex: 'half' as const }),
      });
    const large = send(5000);
    await expect.poll(() => release.length, { timeout: 20_000 }).toBe(1);
    expect((await send(200, high)).status).toBe(503);
    release[0]?.();
    expect((await large).status).toBe(200);

    const first = send(600);
    await expect.poll(() => release.length, { timeout: 20_000 }).toBe(2);
    expect((await send(350)).status).toBe(503);
    const second = send(350, high);
    await expect.poll(() => release.length, { timeout: 20_000 }).toBe(3);
    for (const end of release) end();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect(await service.metrics.registry.metrics()).toContain(
      'gateway_body_bytes_in_flight{service="audio"} 0',
    );
  },
);

test('a late event loop refuses new work by priority, but not where few requests are in flight', () => {
  const process: ProcessLoad = {
    requests: 0,
    bodyBytes: 0,
    eventLoopDelayMs: () => 150,
    rest: () => undefined,
  };
  const settings = { ...parseConfig(LoadSettings, {}), MAX_EVENT_LOOP_DELAY_MS: 100 };
  const guard = createLoadGuard({
    settings,
    process,
    metrics: createMetrics('edge'),
    onShed: () => undefined,
  });
  const [endpoint] = ENDPOINTS.filter(isForWork);
  if (endpoint === undefined) throw new Error('no endpoint');
  const admit = (priority: KeyPriority) => guard.admit(endpoint, { ...identity, priority });
  const loads = Array.from({ length: 16 }, () => guard.begin(endpoint, identity));
  expect(() => admit('low')).toThrow('overloaded at the moment');
  expect(() => admit('normal')).toThrow('overloaded at the moment');
  admit('high');
  loads[0]?.end();
  admit('low');
});

test('bytes that were made of a body refuse others as long as its request is there, and never itself', () => {
  const process = { ...createProcessLoad() };
  const guard = createLoadGuard({
    settings: { ...parseConfig(LoadSettings, {}), MAX_BODY_BYTES_IN_FLIGHT: 1000 },
    process,
    metrics: createMetrics('text'),
    onShed: () => undefined,
  });
  const [endpoint] = ENDPOINTS.filter(isForWork);
  if (endpoint === undefined) throw new Error('no endpoint');
  const [first, second] = [guard.begin(endpoint, identity), guard.begin(endpoint, identity)];
  first.hold(500);
  first.add(5000);
  expect(() => second.hold(1)).toThrow('overloaded at the moment');
  first.end();
  first.add(5000);
  second.hold(900);
  second.end();
  expect(process.bodyBytes).toBe(0);
});
