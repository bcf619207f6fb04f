import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey } from './support/admin-keys.ts';
import { readBudget, readUsage } from './support/admin-usage.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Keys share an account at the provider, and nothing there that one of them made is another one's. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    configuration: (origin) => `
channels:
  provider: { provider: simulator, baseUrl: "${origin}", apiKey: k }
models:
  gpt-5.2:
    kind: text
    routes: [{ channel: provider }]
    price: { inputPerMTok: 10, outputPerMTok: 1000 }
  claude-sonnet-5-5: { kind: text, routes: [{ channel: provider }] }
`,
    services: ['edge', 'text', 'admin'],
    env: { TEXT_BACKGROUND_POLL_MS: '200' },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const clientOf = (key: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });

const makeKey = async (settings: Record<string, unknown> = {}) =>
  createKey(gateway.stack, { name: 'one', ...settings });

test('what a key makes at the provider answers that key only, and the same to all others as what does not exist', async () => {
  const [mine, theirs] = [await makeKey(), await makeKey()];
  const made = await clientOf(mine.key).responses.create({ model: 'gpt-5.2', input: 'mine' });
  const sentBefore = gateway.simulator.requests.length;
  const id = made.output[0]?.id ?? '';
  const naming = (item: string): OpenAI.Responses.ResponseInput => [
    { type: 'item_reference', id: item },
    { role: 'user', content: 'and?' },
  ];
  const refusalFor = async (client: OpenAI, item: string) => {
    const error: unknown = await client.responses
      .create({ model: 'gpt-5.2', input: naming(item) })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof OpenAI.NotFoundError)) throw error;
    return error.message.replace(item, 'ID');
  };
  const other = clientOf(theirs.key);
  expect(await refusalFor(other, id)).toBe(await refusalFor(other, 'msg_unknown'));
  expect(gateway.simulator.requests).toHaveLength(sentBefore);
  const own = await clientOf(mine.key).responses.create({ model: 'gpt-5.2', input: naming(id) });
  expect(own.output_text).toBe('You said: and?');
});

test('a background response is booked once, although the process that began it is killed meanwhile', async () => {
  const { id: keyId, key } = await makeKey({ budget: { usd: 100, period: 'total' } });
  const gate = createGate();
  gateway.simulator.script('/v1/responses', { resume: gate.opened });
  const begun = await clientOf(key).responses.create({ model: 'gpt-5.2', input: 'hi', background: true });
  expect(begun.status).toBe('queued');
  await waitFor(() => gateway.lines.some(({ text }) => text.includes('"usagePending":true')));
  gateway.stack.process('text').kill('SIGKILL');
  gate.open();

  const booked = await waitFor(() =>
    gateway.lines.find(({ text }) => text.includes('background response ended') && text.includes(begun.id)),
  );
  expect(JSON.parse(booked.text)).toMatchObject({ keyId, outcome: 'ok', inputTokens: 1, outputTokens: 3 });
  // Reading it afterwards books nothing more.
  const client = clientOf(key);
  const read = await waitFor(() => client.responses.retrieve(begun.id).catch(() => null));
  expect(read.status).toBe('completed');
  expect(await readUsage(gateway.stack, keyId)).toMatchObject([
    { outcome: 'ok', requests: 1, inputTokens: 1, outputTokens: 3, costMicroUsd: 3010 },
  ]);
  expect(await readBudget(gateway.stack, 'keys', keyId)).toEqual({ spent: 3010, reserved: 0 });
});

test('the headers of a limit on tokens pass the edge, beside those of its own limit on requests', async () => {
  const { key } = await makeKey({ limits: { tokensPerMinute: 100_000, requestsPerMinute: 10 } });
  const body = { model: 'gpt-5.2', input: 'hi', max_output_tokens: 100 };
  const openai = await gateway.fetch('/v1/responses', {
    json: body,
    headers: { authorization: `Bearer ${key}` },
  });
  const left = 100_000 - Math.ceil(JSON.stringify(body).length / 2) - 100;
  expect(Object.fromEntries(openai.headers)).toMatchObject({
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-limit-tokens': '100000',
    'x-ratelimit-remaining-tokens': String(left),
    'x-ratelimit-reset-tokens': expect.stringMatching(/^\d+(\.\d+)?(ms|s)$/),
  });
  const anthropic = await gateway.fetch('/v1/messages', {
    json: { model: 'claude-sonnet-5-5', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
    headers: { authorization: `Bearer ${key}` },
  });
  expect(anthropic.headers.get('anthropic-ratelimit-tokens-limit')).toBe('100000');
  expect(Date.parse(anthropic.headers.get('anthropic-ratelimit-tokens-reset') ?? '')).toBeGreaterThan(0);
  expect(Number(anthropic.headers.get('anthropic-ratelimit-tokens-remaining'))).toBeLessThan(100_000);
});
