import { createGate, type Gate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askAdmin, createKey } from './support/admin-keys.ts';
import { logLine } from './support/log-lines.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** More than the gateway takes on is refused at once, by the keys' priority; what has begun continues. */

const MAX_REQUESTS_IN_FLIGHT = 10;

describe.each(['one', 'each'] as const)('with a process for %s', (mode) => {
  let gateway: Gateway;
  let secrets: Record<'low' | 'high', string>;
  let lowId: string;
  let gate: Gate;
  let held: Promise<Response>[];

  beforeAll(async () => {
    gateway = await startGateway({
      mode,
      services: ['edge', 'text', 'admin'],
      env: { MAX_REQUESTS_IN_FLIGHT: String(MAX_REQUESTS_IN_FLIGHT) },
    });
    const keyOf = (priority: 'low' | 'high') => createKey(gateway.stack, { name: priority, priority });
    const [low, high] = [await keyOf('low'), await keyOf('high')];
    lowId = low.id;
    secrets = { low: low.key, high: high.key };
  });
  afterAll(() => gateway?.close());
  beforeEach(() => {
    gateway.simulator.reset();
    gate = createGate();
    held = [];
  });
  afterEach(async () => {
    gate.open();
    await Promise.all(held);
  });

  const RESPONSE = { model: 'gpt-5.2', input: 'x', store: false };
  const MESSAGE = { model: 'claude-sonnet-5-5', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  const ask = (path: string, json: unknown, secret = gateway.key, headers: Record<string, string> = {}) =>
    gateway.fetch(path, { json, headers: { authorization: `Bearer ${secret}`, ...headers } });

  async function hold(count: number, secret?: string) {
    for (let n = 0; n < count; n += 1) {
      gateway.simulator.script({ gate: gate.opened });
      held.push(ask('/v1/responses', RESPONSE, secret));
    }
    await waitFor(() => gateway.simulator.requests.length === held.length);
  }

  test('each protocol gets its error with a retry-after; a key of a high priority is still served; what has begun is answered', async () => {
    await hold(9);
    const headers = { 'x-request-id': `request-shed-${mode}` };
    const openai = await ask('/v1/responses', RESPONSE, gateway.key, headers);
    expect([openai.status, openai.headers.get('x-should-retry')]).toEqual([503, 'true']);
    expect(openai.headers.get('retry-after')).toMatch(/^[1-4]$/);
    expect(await openai.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    const anthropic = await ask('/v1/messages', MESSAGE);
    expect([anthropic.status, await anthropic.json()]).toMatchObject([
      529,
      { type: 'error', error: { type: 'overloaded_error' } },
    ]);
    await hold(1, secrets.high);
    expect((await ask('/v1/responses', RESPONSE, secrets.high)).status).toBe(503);
    expect(await logLine(gateway, 'edge', headers['x-request-id'])).toMatchObject({
      status: 503,
      'error.code': 'overloaded',
      'error.cause': 'requests_in_flight',
    });
    gate.open();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  });

  test('keys of a low priority are refused while others are still accepted, which usage and the metrics show', async () => {
    await hold(7);
    expect((await ask('/v1/responses', RESPONSE, secrets.low)).status).toBe(503);
    await hold(1);
    const usage = `/admin/v1/usage?groupBy=endpoint,outcome&keyId=${lowId}`;
    await waitFor(async () => {
      const rows = await (await askAdmin(gateway.stack, 'GET', usage)).json();
      const row = { endpoint: 'responses', outcome: 'refused', refused: 1, requests: 0 };
      expect(rows).toMatchObject({ data: [row] });
      return true;
    });
    const page = await (await fetch(`${gateway.stack.edgeMetricsUrl}/metrics`)).text();
    expect(page).toMatch(
      /gateway_shed_total\{(?=[^}]*service="edge")(?=[^}]*priority="low")[^}]*reason="requests_in_flight"[^}]*\} 1\n/,
    );
    expect(page).toMatch(/gateway_requests_in_flight\{[^}]*service="edge"[^}]*\} 8\n/);
  });
});
