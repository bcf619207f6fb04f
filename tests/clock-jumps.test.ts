import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createGate } from '@gateway/simulator/gate';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pricedConfiguration } from './ledger/priced-models.ts';
import { createKey, type MadeKey, revokeKey } from './support/admin-keys.ts';
import { readBudget, readUsageRecords } from './support/admin-usage.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The clock of the machine is set by an hour while requests are on their way: nobody notices. */

const folder = await temporaryFolder();
const offsetFile = join(folder.path, 'offset');
const shiftClock = new URL('./support/shift-clock.ts', import.meta.url);
shiftClock.searchParams.set('offset', offsetFile);

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'image', 'image-worker', 'admin'],
    replicas: { text: 2 },
    configuration: pricedConfiguration,
    env: { NODE_OPTIONS: `--import ${shiftClock.href}` },
  });
});
afterAll(async () => {
  await gateway?.close();
  await folder.close();
});
beforeEach(async () => {
  gateway.simulator.reset();
  await writeFile(offsetFile, '0');
});

const as = ({ key }: MadeKey) => ({ authorization: `Bearer ${key}` });
const respond = (key: MadeKey, more: object = {}) =>
  gateway.fetch('/v1/responses', { json: { model: 'gpt-5.2', input: 'hello', ...more }, headers: as(key) });
const image = (key: MadeKey, headers: Record<string, string> = {}) =>
  gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-2', prompt: 'a cat', size: '256x256', response_format: 'b64_json' },
    headers: { ...as(key), ...headers },
  });

const HOUR_MS = 3_600_000;
const JUMPS = [
  ['forward by an hour', HOUR_MS],
  ['back by an hour', -HOUR_MS],
] as const;

test.for(JUMPS)(
  'the clock is set %s: what is on its way ends well, and is accounted for',
  async ([, offsetMs]) => {
    const key = await createKey(gateway.stack, { name: 'jumps', budget: { usd: 100, period: 'total' } });
    const gate = createGate();
    for (let held = 0; held < 4; held += 1) gateway.simulator.script({ gate: gate.opened });
    const asked = [
      respond(key),
      respond(key, { stream: true }),
      image(key),
      image(key, { prefer: 'respond-async' }),
    ];
    for (const _ of asked) await gateway.simulator.nextRequest();
    await writeFile(offsetFile, String(offsetMs));
    gate.open();
    const replies = await Promise.all(asked);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 202]);
    const texts = await Promise.all(replies.map((reply) => reply.text()));
    expect(texts[1]).toContain('response.completed');
    const path = replies[3]?.headers.get('location') ?? '';
    await waitFor(async () => (await gateway.fetch(`${path}/result`, { headers: as(key) })).status === 200);

    const later = await Promise.all([respond(key), image(key)]);
    expect(later.map(({ status }) => status)).toEqual([200, 200]);
    await waitFor(async () => (await readBudget(gateway.stack, 'keys', key.id)).reserved === 0);
    // The admin service shows what was before its now.
    await writeFile(offsetFile, '0');
    const records = await waitFor(async () => {
      const found = await readUsageRecords(gateway.stack, key.id);
      return found.length >= 6 && found;
    });
    expect(records.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok']);
    const sum = records.reduce((total, { costMicroUsd }) => total + costMicroUsd, 0);
    expect(await readBudget(gateway.stack, 'keys', key.id)).toEqual({ spent: sum, reserved: 0 });
  },
);

test.for(JUMPS)('the clock is set %s: a revoked key is refused, and a limit holds', async ([, offsetMs]) => {
  const revoked = await createKey(gateway.stack, { name: 'revoked' });
  const limited = await createKey(gateway.stack, { name: 'limited', limits: { requestsPerMinute: 2 } });
  expect((await respond(revoked)).status).toBe(200);
  expect((await respond(limited)).status).toBe(200);
  await writeFile(offsetFile, String(offsetMs));
  await revokeKey(gateway.stack, revoked.id);
  await waitFor(async () => (await respond(revoked)).status === 401);
  const passed = await respond(limited);
  expect(passed.status, await passed.text()).toBe(200);
  const refused = await respond(limited);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
});

test('the clock is set again and again while requests are on their way: none is refused', async () => {
  const key = await createKey(gateway.stack, { name: 'settings' });
  for (let turn = 0; turn < 30; turn += 1) {
    const asked = Array.from({ length: 6 }, () => respond(key));
    await writeFile(offsetFile, String(turn % 2 === 0 ? HOUR_MS : 0));
    const replies = await Promise.all([...asked, respond(key)]);
    expect(replies.map(({ status }) => status)).toEqual(Array(7).fill(200));
  }
});

/** Asks until a replica has answered. */
async function answeredBy(name: string, key: MadeKey): Promise<void> {
  const before = gateway.lines.length;
  await waitFor(
    async () => {
      expect((await respond(key)).status).toBe(200);
      return gateway.lines
        .slice(before)
        .some(({ process, text }) => process === name && text.includes('"requestId"'));
    },
    { timeoutMs: 30_000, what: `that ${name} answers` },
  );
}

test('the clock is set back by an hour: a replica that was lost just before gets requests again', async () => {
  const key = await createKey(gateway.stack, { name: 'lost' });
  await answeredBy('text-2', key);
  gateway.simulator.reset();
  const gate = createGate();
  for (let held = 0; held < 3; held += 1) gateway.simulator.script({ gate: gate.opened });
  const asked = [respond(key), respond(key)];
  for (const _ of asked) await gateway.simulator.nextRequest();
  gateway.stack.process('text-2').kill('SIGKILL');
  // The one that it had is sent to the other.
  await gateway.simulator.nextRequest();
  await writeFile(offsetFile, String(-HOUR_MS));
  gate.open();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  await answeredBy('text-2', key);
});
