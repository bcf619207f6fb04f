import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAdmission } from '@gateway/metering/limits/admission';
import { createGate } from '@gateway/simulator/gate';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { settleAll } from './chaos/books.ts';
import { askAdmin, createKey } from './support/admin-keys.ts';
import { readBudget } from './support/admin-usage.ts';
import {
  CREATE,
  callRealtime,
  costOf,
  REALTIME,
  type RealtimeCaller,
  SILENCE,
  SOUND,
  speak,
  usageOf,
} from './support/realtime.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** What is left of realtime sessions: in the content log, and of those whose process is killed. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    configuration: (origin) => `${REALTIME(origin)}contentLog: { rules: [{ models: [renamed] }] }\n`,
    mode: 'each',
    services: ['edge', 'audio'],
    replicas: { audio: 2 },
  });
});
afterAll(() => gateway?.close());

/** The lines of the content log that are not in its store yet. */
async function spooled(): Promise<string[]> {
  const folder = join(gateway.dataFolder, 'content-spool');
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
  return texts.flatMap((text) => text.split('\n').slice(0, -1));
}

test('a response is in the content log with what was said and written, redacted, and without its sound', async () => {
  using caller = await callRealtime(gateway, { model: 'renamed' });
  await caller.next('session.created');
  const audio = { input: { transcription: { model: 'whisper-1' } } };
  caller.send({ type: 'session.update', session: { type: 'realtime', audio } });
  await caller.next('session.updated');
  const content = [{ type: 'input_text', text: 'Write to ann@example.com' }];
  caller.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  for (const sound of [SOUND, SILENCE]) caller.send(speak(sound));
  await caller.next('response.done');
  const line = await waitFor(() =>
    gateway.lines.find(({ text }) => text.includes('responseOutcome') && text.includes(caller.id)),
  );
  const { requestId, usageId } = z
    .object({ requestId: z.string(), usageId: z.string() })
    .parse(JSON.parse(line.text));
  const logged = await waitFor(async () => (await spooled()).find((one) => one.includes(requestId)));
  const spoken = { type: 'input_audio', seconds: 0.2, transcript: 'Hello there.' };
  expect(JSON.parse(logged)).toMatchObject({
    ...{ id: usageId, keyId: caller.id, endpoint: 'realtime', model: 'renamed', channel: 'first' },
    request: {
      instructions: 'Be helpful.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Write to [email]' }] },
        { role: 'user', content: [spoken] },
      ],
    },
    answer: { status: 'completed', output: [{ content: [{ transcript: 'It is a simulated voice.' }] }] },
    redacted: { email: 1 },
  });
  expect(logged).not.toContain(SOUND.slice(0, 40));
  const records = await askAdmin(gateway.stack, 'GET', `/admin/v1/requests/${usageId}`);
  expect(await records.json()).toMatchObject({ content: 'logged' });
});

test('a caller who may not keep a session out of the content log gets none', async () => {
  const { key } = await createKey(gateway.stack, { name: 'secretive' });
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-content-log': 'off' };
  const open = (model: string) => connectSocket(`${gateway.url}/v1/realtime?model=${model}`, headers);
  using refused = await open('renamed');
  expect((await refused.closed).code).toBe(1008);
  expect(refused.events).toMatchObject([{ type: 'error', error: { code: 'content_log_required' } }]);
  // Of this model nothing is logged anyway.
  using other = await open('gpt-realtime');
  await waitFor(() => other.events.some(({ type }) => type === 'session.created'));
});

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
