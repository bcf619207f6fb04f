import { createGate } from '@gateway/simulator/gate';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey, revokeKey } from './support/admin-keys.ts';
import { readBudget } from './support/admin-usage.ts';
import {
  CREATE,
  callRealtime,
  costOf,
  REALTIME,
  SILENCE,
  SOUND,
  speak,
  usageOf,
} from './support/realtime.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** How realtime sessions end, and what a provider or a caller can do to the gateway in one. */

const MAX_EVENT_BYTES = 4 * 1024 * 1024;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    configuration: REALTIME,
    mode: 'each',
    services: ['edge', 'audio'],
    env: {
      AUDIO_REALTIME_PING_MS: '3000',
      DRAIN_TIMEOUT_MS: '30000',
      AUDIO_REALTIME_MAX_SESSIONS_PER_KEY: '3',
      AUDIO_REALTIME_MAX_EVENT_BYTES: String(MAX_EVENT_BYTES),
    },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const never = new Promise<void>(() => undefined);
const lastSession = () => waitFor(() => gateway.simulator.realtime.sessions.at(-1));
const lineOf = (keyId: string) =>
  waitFor(
    () => {
      const line = gateway.lines.find(
        ({ text }) => text.includes('realtime session closed') && text.includes(keyId),
      );
      return line && JSON.parse(line.text);
    },
    { what: 'the line of a session' },
  );

test('a budget that ends in the middle ends the session with an error event and 1008, also where the provider begins by itself', async () => {
  for (const begin of ['caller', 'provider'] as const) {
    const usd = 0.5;
    using caller = await callRealtime(gateway, { budget: { usd, period: 'total' } });
    await caller.next('session.created');
    // Nearly everything is spent by one response.
    gateway.simulator.realtime.scriptResponse({
      usage: { input_tokens: 15_600, output_tokens: 0, input_token_details: { audio_tokens: 15_600 } },
    });
    caller.send(CREATE);
    await caller.next('response.done');
    await waitFor(async () => (await readBudget(gateway.stack, 'keys', caller.id)).spent > 0);
    if (begin === 'caller') caller.send(CREATE);
    else {
      gateway.simulator.realtime.scriptResponse({ gate: never });
      for (const audio of [SOUND, SILENCE]) caller.send(speak(audio));
    }
    expect(await caller.next('error')).toMatchObject({ error: { code: 'insufficient_quota' } });
    expect((await caller.closed).code).toBe(1008);
    const session = await lastSession();
    const cancels = session.events.filter(({ type }) => type === 'response.cancel');
    expect(cancels).toHaveLength(begin === 'caller' ? 0 : 1);
    // What the provider had begun is charged all the same; nothing stays reserved.
    await usageOf(gateway, caller, begin === 'caller' ? 1 : 2);
    await waitFor(async () => (await readBudget(gateway.stack, 'keys', caller.id)).reserved === 0);
    expect(await lineOf(caller.id)).toMatchObject({ reason: 'budget', channel: 'first' });
  }
});

test('a key whose budget is spent gets no session', async () => {
  using caller = await callRealtime(gateway, { budget: { usd: 0, period: 'total' } });
  expect(await caller.next('error')).toMatchObject({ error: { code: 'insufficient_quota' } });
  expect((await caller.closed).code).toBe(1008);
  expect(gateway.simulator.realtime.sessions).toHaveLength(0);
});

test('a key that is revoked in the middle ends its sessions, idle ones too', async () => {
  using caller = await callRealtime(gateway);
  await caller.next('session.created');
  await revokeKey(gateway.stack, caller.id);
  expect(await caller.next('error')).toMatchObject({ error: { code: 'invalid_api_key' } });
  expect((await caller.closed).code).toBe(1008);
  await (await lastSession()).closed;
});

test('a limit on requests refuses the response, and the session goes on', async () => {
  using caller = await callRealtime(gateway, { limits: { requestsPerMinute: 2 } });
  await caller.next('session.created');
  caller.send(CREATE);
  await caller.next('response.done');
  caller.send({ ...CREATE, event_id: 'too-many' });
  expect(await caller.next('error')).toMatchObject({
    error: { code: 'rate_limit_exceeded', event_id: 'too-many' },
  });
  caller.send({ type: 'input_audio_buffer.clear' });
  await caller.next('input_audio_buffer.cleared');
});

test('sessions of a key are bounded: by concurrentRequests over all replicas, and by the process', async () => {
  const one = await createKey(gateway.stack, { name: 'one', limits: { concurrentRequests: 1 } });
  const first = await callRealtime(gateway, { key: one });
  await first.next('session.created');
  first.send(CREATE);
  await first.next('response.done');
  using second = await callRealtime(gateway, { key: one });
  expect(await second.next('error')).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  expect((await second.closed).code).toBe(1013);
  first.webSocket.close();
  await waitFor(async () => {
    using again = await callRealtime(gateway, { key: one });
    return (await waitFor(() => again.events[0])).type === 'session.created';
  });
  const many = await createKey(gateway.stack, { name: 'many' });
  const open = await Promise.all([1, 2, 3].map(() => callRealtime(gateway, { key: many })));
  for (const caller of open) await caller.next('session.created');
  using fourth = await callRealtime(gateway, { key: many });
  expect(await fourth.next('error')).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  for (const caller of open) caller.webSocket.terminate();
});

const LIES: readonly [string, unknown, object][] = [
  ['numbers that are none', { input_tokens: -5, output_tokens: 'many' }, { estimated: true }],
  [
    'more sound and cache than input',
    {
      input_tokens: 10,
      output_tokens: 4,
      input_token_details: {
        audio_tokens: 50,
        cached_tokens: 99,
        cached_tokens_details: { audio_tokens: 70 },
      },
      output_token_details: { audio_tokens: 40 },
    },
    // All of it is cached sound.
    { estimated: false, inputTokens: 10, outputTokens: 4, costMicroUsd: Math.round(10 * 0.25 + 4 * 64) },
  ],
  ['nothing', null, { estimated: true }],
];
test.for(LIES)('a provider that reports %s is charged by what can be', async ([, usage, expected]) => {
  using caller = await callRealtime(gateway);
  gateway.simulator.realtime.scriptResponse({ usage, ends: 3 });
  caller.send(CREATE);
  await caller.next('response.done');
  caller.send(CREATE);
  await waitFor(() => caller.events.filter(({ type }) => type === 'response.done').length === 4);
  // An end that is reported three times counts once.
  const records = await usageOf(gateway, caller, 2);
  expect(records).toHaveLength(2);
  expect(records[0]).toMatchObject(expected);
  if ('estimated' in expected && expected.estimated === true)
    expect(records[0]?.outputTokens).toBe(Math.ceil((5 * 4800) / 2400));
});

test('an end of a response that never began is charged, and one that never ends is charged as far as it came', async () => {
  using caller = await callRealtime(gateway);
  await caller.next('session.created');
  const usage = { input_tokens: 100, output_tokens: 10, input_token_details: {}, output_token_details: {} };
  (await lastSession()).send({
    type: 'response.done',
    response: { id: 'resp_never', status: 'completed', usage },
  });
  await caller.next('response.done');
  expect(await usageOf(gateway, caller, 1)).toMatchObject([
    { outcome: 'ok', costMicroUsd: 100 * 4 + 10 * 16, channel: 'first' },
  ]);
  gateway.simulator.realtime.scriptResponse({ cutAfter: 2 });
  caller.send(CREATE);
  expect(await caller.next('error')).toMatchObject({ error: { code: 'upstream_error' } });
  expect((await caller.closed).code).toBe(1011);
  const [, cut] = await usageOf(gateway, caller, 2);
  expect(cut).toMatchObject({ outcome: 'cut', estimated: true, outputTokens: 4 });
});

test('a caller who leaves in the middle ends the response, and pays what it reports', async () => {
  const caller = await callRealtime(gateway);
  gateway.simulator.realtime.scriptResponse({ gate: never });
  caller.send(CREATE);
  await caller.next('response.output_audio.delta');
  caller.webSocket.terminate();
  const session = await lastSession();
  await session.closed;
  expect(session.events.at(-1)).toMatchObject({ type: 'response.cancel' });
  expect(await usageOf(gateway, caller, 1)).toMatchObject([{ outcome: 'cancelled', estimated: false }]);
  expect(await lineOf(caller.id)).toMatchObject({ reason: 'lost', responses: 1 });
});

test('a caller who reads nothing holds the provider back, and the gateway holds little', async () => {
  const caller = await callRealtime(gateway);
  await caller.next('session.created');
  caller.connection.pause();
  gateway.simulator.realtime.scriptResponse({ pieces: 1500, pieceBytes: 48_000, gate: never });
  caller.send(CREATE);
  // Some ninety-six megabytes: what the gateway and the system's buffers at each step do not take stays with the provider.
  const session = await lastSession();
  await waitFor(() => session.untakenBytes > 50_000_000);
  // Three pings' time without reading: it counts as gone, and the provider hears of it.
  await session.closed;
  expect(await lineOf(caller.id)).toMatchObject({ reason: expect.stringMatching(/^(?:slow|silent)$/) });
  caller.webSocket.terminate();
});

test('an event that is too large ends the session of whoever sent it', async () => {
  using caller = await callRealtime(gateway);
  await caller.next('session.created');
  caller.send(speak('A'.repeat(MAX_EVENT_BYTES)));
  expect((await caller.closed).code).toBe(1009);
  using other = await callRealtime(gateway);
  await other.next('session.created');
  (await lastSession()).send({ type: 'flood', text: 'A'.repeat(MAX_EVENT_BYTES) });
  expect(await other.next('error')).toMatchObject({ error: { code: 'upstream_error' } });
  expect((await other.closed).code).toBe(1011);
});

test('a provider that begins responses without end is left', async () => {
  using caller = await callRealtime(gateway);
  await caller.next('session.created');
  const session = await lastSession();
  for (let count = 0; count < 20; count += 1)
    session.send({ type: 'response.created', response: { id: `resp_${count}`, status: 'in_progress' } });
  expect((await caller.closed).code).toBe(1008);
  await session.closed;
  expect(await lineOf(caller.id)).toMatchObject({ reason: 'flood' });
});

test('no sound, no words and no secret of a session are in the logs', async () => {
  using caller = await callRealtime(gateway);
  await caller.next('session.created');
  caller.send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a-private-word' }] },
  });
  caller.send(speak(SOUND));
  caller.send(CREATE);
  const done = await caller.next('response.done');
  expect(costOf(done)).toBeGreaterThan(0);
  caller.webSocket.close();
  await lineOf(caller.id);
  const text = gateway.lines.map((line) => line.text).join('\n');
  for (const secret of [
    'a-private-word',
    'simulated voice',
    SOUND.slice(0, 40),
    caller.key,
    'sk-provider-secret',
  ])
    expect(text).not.toContain(secret);
});

test('a deploy gives notice, lets the response under way end, takes no further ones, and closes with 1012', async () => {
  const gate = createGate();
  using busy = await callRealtime(gateway);
  using idle = await callRealtime(gateway);
  await idle.next('session.created');
  gateway.simulator.realtime.scriptResponse({ gate: gate.opened });
  busy.send(CREATE);
  await busy.next('response.output_audio.delta');
  gateway.stack.process('audio').kill('SIGTERM');
  for (const caller of [busy, idle])
    expect(await caller.next('error')).toMatchObject({ error: { code: 'shutting_down' } });
  expect((await idle.closed).code).toBe(1012);
  busy.send({ ...CREATE, event_id: 'late' });
  expect(await busy.next('error')).toMatchObject({ error: { code: 'shutting_down', event_id: 'late' } });
  gate.open();
  await busy.next('response.done');
  expect((await busy.closed).code).toBe(1012);
  expect(await usageOf(gateway, busy, 1)).toMatchObject([{ outcome: 'ok', estimated: false }]);
  // The next process takes sessions again.
  await waitFor(async () => {
    const again = await connectSocket(`${gateway.url}/v1/realtime?model=gpt-realtime`, {
      authorization: `Bearer ${gateway.key}`,
    }).catch(() => undefined);
    const first = again && (await waitFor(() => again.events[0]));
    again?.webSocket.terminate();
    return first?.type === 'session.created';
  });
});
