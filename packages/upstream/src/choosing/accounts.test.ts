import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { error, json, keyOf, startProvider, startUpstream } from '../provider-for-tests.ts';
import { MAX_BYTES, refusal, sendRequest } from '../sending/send-for-tests.ts';

const KEYS = { FIRST: 'sk-of-the-first-account', SECOND: 'sk-of-the-second-account' };

const channelWith = (settings: string) => {
  const { channels } = parseConfiguration(
    `
channels:
  one: { provider: openai, ${settings} }
models:
  m: { kind: text, routes: [{ channel: one }] }
`,
    'gateway.yaml',
    KEYS,
  );
  const channel = channels.get('one');
  if (channel === undefined) throw new Error('no channel');
  return channel;
};

test('each named key is an account with its own key, weight and bound; absent settings are those of the channel', () => {
  const channel = channelWith(
    `maxConcurrent: 7, apiKeys: { a: "\${FIRST}", b: { apiKey: "\${SECOND}", weight: 3, maxConcurrent: 2 } }`,
  );
  expect(channel.accounts).toMatchObject([
    { name: 'a', weight: 1, maxConcurrent: 7 },
    { name: 'b', weight: 3, maxConcurrent: 2 },
  ]);
  expect(channel.accounts.map(({ secrets }) => secrets.headers)).toEqual([
    expect.arrayContaining([['authorization', `Bearer ${KEYS.FIRST}`]]),
    expect.arrayContaining([['authorization', `Bearer ${KEYS.SECOND}`]]),
  ]);
});

test('a channel with one key has one account, which is called default', () => {
  expect(channelWith(`apiKey: "\${FIRST}"`).accounts).toMatchObject([{ name: 'default', weight: 1 }]);
});

test('a channel can be logged without showing any of its keys', () => {
  const channel = channelWith(`apiKeys: { a: "\${FIRST}", b: "\${SECOND}" }`);
  const shown = inspect(channel, { depth: 9, showHidden: true }) + JSON.stringify(channel);
  expect(shown).toContain('accounts');
  for (const key of Object.values(KEYS)) expect(shown).not.toContain(key);
});

test('a request of an account carries its key; a refused key leads to the next account of the channel', async () => {
  const provider = await startProvider((response, received) =>
    received.headers.authorization === `Bearer ${keyOf('one', 'b')}`
      ? json(response, { ok: true })
      : error(401, { error: { code: 'invalid_api_key', message: 'bad' } })(response, received),
  );
  const upstream = await startUpstream({ one: { origin: provider.origin, accounts: ['a', 'b'] } });
  for (let count = 0; count < 20; count += 1) {
    const reply = await sendRequest(upstream);
    await reply.bytes(MAX_BYTES);
    expect(reply.candidate.account.name).toBe('b');
    expect(reply.attempts.at(-1)).toMatchObject({ channel: 'one', account: 'b', outcome: 'ok' });
    expect(reply.attempts.slice(0, -1)).toMatchObject(
      reply.attempts.length === 2 ? [{ channel: 'one', account: 'a', outcome: 'misconfigured' }] : [],
    );
  }
  const used = new Set(provider.requests.map(({ headers }) => headers.authorization));
  expect(used).toEqual(new Set([`Bearer ${keyOf('one', 'a')}`, `Bearer ${keyOf('one', 'b')}`]));
});

test("a provider that repeats another account's key does not show it to the caller", async () => {
  const message = `${keyOf('one', 'a')} ${keyOf('one', 'b')} is wrong`;
  const provider = await startProvider(error(400, { error: { message } }));
  const upstream = await startUpstream({ one: { origin: provider.origin, accounts: ['a', 'b'] } });
  const thrown = await refusal(upstream);
  expect(JSON.stringify([thrown.message, thrown.options.relay])).toContain('is wrong');
  expect(JSON.stringify([thrown.message, thrown.options.relay])).not.toContain('sk-secret');
});

test.for([
  ['is down', 500, ['first', 'second', 'first', 'first']],
  ['refuses a key', 429, ['first', 'first', 'first', 'second']],
] as const)(
  'where a channel %s, its other accounts are tried after or before other channels',
  async ([, status, order]) => {
    const failing = async () => (await startProvider(error(status, { error: { message: 'no' } }))).origin;
    const upstream = await startUpstream({
      first: { origin: await failing(), accounts: ['a', 'b', 'c'] },
      second: { origin: await failing() },
    });
    const called: string[] = [];
    await refusal(upstream, { onAttempt: ({ channel }) => called.push(channel) });
    expect(called).toEqual(order);
  },
);
