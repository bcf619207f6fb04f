import { createAdmission } from '@gateway/metering/limits/admission';
import { createGate } from '@gateway/simulator/gate';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settleAll } from './chaos/books.ts';
import { readBudget } from './support/admin-usage.ts';
import { CREATE, callRealtime, costOf, REALTIME, type RealtimeCaller, usageOf } from './support/realtime.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A process is killed that has realtime sessions. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    configuration: REALTIME,
    mode: 'each',
    services: ['edge', 'audio'],
    replicas: { audio: 2 },
  });
});
afterAll(() => gateway?.close());

/** Whether another session of a key has a place when the leases of processes that are gone have run out. */
async function hasPlaceAfterLeases({ id }: RealtimeCaller): Promise<boolean> {
  const redis = new Redis(gateway.stack.redisUrl);
  const [seconds] = await redis.time();
  const admission = createAdmission({ redis, clock: () => (Number(seconds) + 61) * 1e6 });
  const checks = [{ kind: 'slots', owner: id, limit: 1 }] as const;
  const { ok } = await admission.admit('another-session', checks);
  admission.release('another-session', checks);
  await admission.close();
  await redis.quit();
  return ok;
}

test('a process that is killed ends its own sessions with an error that says so, and what they held comes back with its lease', async () => {
  const settings = { budget: { usd: 10, period: 'total' }, limits: { concurrentRequests: 1 } };
  const gate = createGate();
  const open = async () => {
    const caller = await callRealtime(gateway, settings);
    await caller.next('session.created');
    gateway.simulator.realtime.scriptResponse({ gate: gate.opened });
    caller.send(CREATE);
    await caller.next('response.output_audio.delta');
    return caller;
  };
  // The edge gives a session to the process that has fewest.
  using first = await open();
  using second = await open();
  const callers = [first, second];
  const reservedOf = async ({ id }: RealtimeCaller) => readBudget(gateway.stack, 'keys', id);
  gateway.stack.process('audio').kill('SIGKILL');
  const lost = await Promise.race(callers.map(async (caller) => caller.closed.then(() => caller)));
  expect(await lost.closed).toMatchObject({ code: 1012, reason: expect.stringContaining('Connect again') });
  expect(lost.events.at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'service_unavailable', message: expect.stringContaining('Open another one') },
  });
  const [survivor] = callers.filter((caller) => caller !== lost);
  if (survivor === undefined) throw new Error('no session is left');
  gate.open();
  const done = await survivor.next('response.done');
  expect(await usageOf(gateway, survivor, 1)).toMatchObject([
    { outcome: 'ok', estimated: false, costMicroUsd: costOf(done) },
  ]);

  const { reserved } = await reservedOf(lost);
  expect(reserved).toBeGreaterThan(0);
  expect(await settleAll(gateway)).toBe(1);
  // What its provider would have reported is not known: it counts as the most that it could have been.
  expect(await usageOf(gateway, lost, 1)).toMatchObject([
    {
      ...{ model: 'gpt-realtime', endpoint: 'realtime', outcome: 'abandoned', channel: null },
      ...{ estimated: true, costMicroUsd: reserved },
    },
  ]);
  expect(await reservedOf(lost)).toEqual({ spent: reserved, reserved: 0 });
  expect(await hasPlaceAfterLeases(lost)).toBe(true);
  // Sessions are taken as before.
  using another = await callRealtime(gateway);
  await another.next('session.created');
});
