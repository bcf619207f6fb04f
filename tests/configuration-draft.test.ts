import { BLOCKED, NONE, startHookServer } from '@gateway/testkit/start-hook-server';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { PROVIDER_KEY } from './support/configuration.ts';
import { logLine } from './support/log-lines.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A draft of the configuration is tried on one request, and nothing else notices. */

const DRAFT_KEY = 'sk-only-of-the-draft-0123456789';

let gateway: Gateway;
let key: MadeKey;
beforeAll(async () => {
  gateway = await startGateway({
    ...{ mode: 'each', services: ['edge', 'text'], replicas: { text: 2 } },
    env: { CONFIGURATION_SOURCE: 'database' },
  });
  key = await createKey(gateway.stack, { name: 'tries drafts' });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const Drafted = z.looseObject({ text: z.string(), isValid: z.boolean() });
const Tried = z.looseObject({
  isOk: z.boolean(),
  requestId: z.string(),
  error: z.string().nullable(),
  detail: z.string().nullable(),
  attempts: z.array(z.looseObject({ channel: z.string(), outcome: z.string() })),
  output: z.string(),
});
const Refusal = z.object({ error: z.object({ message: z.string() }) });

const set = (path: readonly (string | number)[], value: unknown) => ({ op: 'set', path, value });
const otherChannel = () =>
  set(['channels', 'other'], {
    ...{ provider: 'simulator', baseUrl: gateway.simulator.url, apiKey: DRAFT_KEY },
  });

async function draftOf(edits: readonly unknown[]): Promise<string> {
  const reply = await askAdmin(gateway.stack, 'POST', '/admin/v1/configuration/draft', { edits });
  const { text, isValid } = Drafted.parse(await reply.json());
  expect(isValid).toBe(true);
  return text;
}

const post = (text: string, more: Record<string, unknown> = {}, who = 'ann') =>
  fetch(`${gateway.stack.adminUrl}/admin/v1/configuration/draft/try`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${gateway.stack.adminToken}`, 'content-type': 'application/json' },
      'x-gateway-actor': who,
    },
    body: JSON.stringify({ text, model: 'alias', input: 'hello', keyId: key.id, ...more }),
  });
async function tried(text: string, more: Record<string, unknown> = {}) {
  const reply = await post(text, more);
  expect(reply.status).toBe(200);
  return Tried.parse(await reply.json());
}
async function refused(text: string, more: Record<string, unknown> = {}) {
  const reply = await post(text, more);
  return { status: reply.status, message: Refusal.parse(await reply.json()).error.message };
}

const sent = () =>
  gateway.simulator.requests.map((request) => ({
    key: String(request.headers.authorization).replace('Bearer ', ''),
    model: z.looseObject({ model: z.string() }).parse(request.json()).model,
  }));
const IN_USE = { key: PROVIDER_KEY, model: 'gpt-5.2' };

test('every replica sends a request by its draft, with its route, its key and its price, and every other request as before', async () => {
  const text = await draftOf([
    otherChannel(),
    set(['models', 'alias'], {
      kind: 'text',
      price: { inputPerMTok: 1_000_000, outputPerMTok: 0 },
      routes: [{ channel: 'other', model: 'gpt-5.3' }],
    }),
  ]);
  const before = gateway.lines.length;
  const linesOfText = () =>
    gateway.lines.slice(before).filter(({ text: line }) => line.includes('"draft":true'));
  const tries = [];
  // The edge takes its turns among the replicas.
  do {
    tries.push(await tried(text));
    const { requestId } = tries.at(-1) ?? { requestId: '' };
    await waitFor(() => linesOfText().some(({ text: line }) => line.includes(requestId)));
  } while (new Set(linesOfText().map(({ process }) => process)).size < 2 && tries.length < 20);
  expect(new Set(linesOfText().map(({ process }) => process))).toEqual(new Set(['text', 'text-2']));

  for (const one of tries)
    expect(one).toMatchObject({
      ...{ isOk: true, error: null, output: expect.stringMatching(/./) },
      attempts: [{ channel: 'other', outcome: 'ok' }],
    });
  const byDraft = { key: DRAFT_KEY, model: 'gpt-5.3' };
  expect(sent()).toEqual(tries.map(() => byDraft));
  // Each replica gets one of them.
  for (let count = 0; count < 2; count += 1)
    await gateway.openai.responses.create({ model: 'alias', input: 'x' });
  expect(sent().slice(tries.length)).toEqual([IN_USE, IN_USE]);

  const { requestId = '' } = tries[0] ?? {};
  const record = await waitFor(async () => {
    const reply = await fetch(`${gateway.stack.adminUrl}/admin/v1/requests/${requestId}`, {
      headers: { authorization: `Bearer ${gateway.stack.adminToken}` },
    });
    return reply.ok ? z.record(z.string(), z.unknown()).parse(await reply.json()) : undefined;
  });
  expect(record).toMatchObject({ isDraft: true, channel: 'other', keyId: key.id, outcome: 'ok' });
  // A dollar for each token of the input, which no real model costs.
  expect(record.costMicroUsd).toBeGreaterThanOrEqual(1_000_000);
  expect(await logLine(gateway, 'edge', requestId)).toMatchObject({ keyId: key.id, status: 200 });

  const audit = await askAdmin(gateway.stack, 'GET', '/admin/v1/audit?action=configuration.tried');
  const entries = JSON.stringify(await audit.json());
  expect(entries).toContain(requestId);
  expect(entries).toContain('"who":"ann"');
  expect(entries + JSON.stringify(gateway.lines)).not.toContain(DRAFT_KEY);
});

test("a draft's own hooks check its request, and no other", async () => {
  await using hook = await startHookServer();
  hook.answer(({ texts }) => (texts.includes('hello') ? BLOCKED : NONE));
  const text = await draftOf([
    otherChannel(),
    set(['models', 'alias'], { kind: 'text', routes: [{ channel: 'other', model: 'of-the-draft' }] }),
    set(['hooks'], { guard: { kind: 'generic', baseUrl: hook.url } }),
  ]);
  const blocked = await tried(text);
  expect([blocked.isOk, blocked.error]).toEqual([false, expect.stringContaining("by the check 'guard'")]);
  expect((await tried(text, { input: 'good morning' })).isOk).toBe(true);
  expect(hook.requests).toHaveLength(2);
  expect(await gateway.openai.responses.create({ model: 'alias', input: 'hello' })).toBeDefined();
  expect(hook.requests).toHaveLength(2);
});

test('a channel that fails in a draft says why, and neither rests nor counts as failing where it is in use', async () => {
  const text = await draftOf([set(['channels', 'provider', 'apiKey'], DRAFT_KEY)]);
  gateway.simulator.script({ status: 401 });
  expect(await tried(text)).toMatchObject({
    isOk: false,
    error: expect.stringMatching(/./),
    detail: expect.stringMatching(/^answered 401/),
    attempts: [{ channel: 'provider', status: 401 }],
  });
  await gateway.openai.responses.create({ model: 'alias', input: 'x' });
  expect(sent()).toEqual([{ ...IN_USE, key: DRAFT_KEY }, IN_USE]);
  const channels = await askAdmin(gateway.stack, 'GET', '/admin/v1/channels');
  const Channels = z.looseObject({
    data: z.array(z.looseObject({ attempts: z.looseObject({ lastHour: z.record(z.string(), z.number()) }) })),
  });
  const { data } = Channels.parse(await channels.json());
  expect(data).toMatchObject([{ name: 'provider', rests: [] }]);
  expect(Object.keys(data[0]?.attempts.lastHour ?? {}).filter((outcome) => outcome !== 'ok')).toEqual([]);
});

test('a draft that cannot be used is refused with the reason, and nothing is sent', async () => {
  const text = await draftOf([otherChannel()]);
  expect(await refused('channels: {}\nmodels: { a: { kind: text } }\n')).toMatchObject({
    status: 400,
    message: expect.stringMatching(/^Nothing was sent: .*models\.a/),
  });
  expect(await refused(text.replace(DRAFT_KEY, '"[masked]"'))).toMatchObject({
    status: 400,
    message: expect.stringContaining('masked'),
  });
  expect(await refused(text, { secrets: { NOBODY_NAMES_IT: 'x' } })).toMatchObject({
    status: 400,
    message: `The text names no variable \${NOBODY_NAMES_IT}.`,
  });
  expect(await refused(text, { keyId: 'key_of_nobody' })).toMatchObject({ status: 404 });
  expect(await refused('#'.repeat(250_001))).toMatchObject({ status: 400 });
  expect(await refused(text, { input: 'x'.repeat(10_001) })).toMatchObject({ status: 400 });

  const unset = text.replace(DRAFT_KEY, `"\${SET_NOWHERE}"`);
  expect(await tried(unset)).toMatchObject({
    isOk: false,
    status: 400,
    error: expect.stringMatching(/text service cannot use the draft.*SET_NOWHERE/),
  });
  expect(await tried(text, { model: 'whisper-1' })).toMatchObject({
    isOk: false,
    error: expect.stringContaining('transcription model'),
  });
  expect(gateway.simulator.requests).toEqual([]);
  const route = set(['models', 'alias', 'routes'], [{ channel: 'other' }]);
  const toOther = (await draftOf([otherChannel(), route])).replace(DRAFT_KEY, `"\${SET_NOWHERE}"`);
  expect(await tried(toOther, { secrets: { SET_NOWHERE: DRAFT_KEY } })).toMatchObject({ isOk: true });
  expect(sent()).toEqual([{ key: DRAFT_KEY, model: 'alias' }]);
});

test('a person tries one draft at a time; another person may meanwhile', async () => {
  const text = await draftOf([otherChannel()]);
  const gate = Promise.withResolvers<void>();
  gateway.simulator.script({ gate: gate.promise });
  const first = tried(text);
  await gateway.simulator.nextRequest();
  const second = await post(text);
  expect([second.status, Refusal.parse(await second.json()).error.message]).toEqual([
    409,
    expect.stringContaining('already trying a draft'),
  ]);
  expect((await post(text, {}, 'ben')).status).toBe(200);
  gate.resolve();
  expect(await first).toMatchObject({ isOk: true });
  expect(await tried(text)).toMatchObject({ isOk: true });
});
