import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, test } from 'vitest';
import { isMadeAt, makerAt, makerName } from './maker.ts';

const accountsOf = (settings: string) => {
  const file = `
channels:
  one: { provider: openai, ${settings} }
models: {}
`;
  const channel = parseConfiguration(file, 'gateway.yaml', {}).channels.get('one');
  if (channel === undefined) throw new Error('no channel');
  return channel.accounts.map((account) => ({ channel, account }));
};

const [SINGLE] = accountsOf('apiKey: k');
const [A, B] = accountsOf('apiKeys: { a: k1, b: k2 }');
const [SHARED_A, SHARED_B] = accountsOf('apiKeys: { a: k1, b: k2 }, accountsShareStorage: true');

test.for([
  ['the only key of a channel', SINGLE, 'one'],
  ['one of several', A, 'one/a'],
  ['one of several that share', SHARED_A, 'one'],
] as const)('what %s makes bears the name of those who can read it', ([, at, name]) => {
  expect(at && makerName(makerAt(at))).toBe(name);
});

test.for([
  ['the same account', A, A, true],
  ['another account', A, B, false],
  ['another account that shares', SHARED_A, SHARED_B, true],
  ['an account that came later, where there was one key', SINGLE, B, true],
  ['the only key, where there were several', B, SINGLE, true],
  ['an account that shares now', A, SHARED_B, true],
] as const)('%s can read it, or not', ([, maker, reader, expected]) => {
  expect(maker && reader && isMadeAt(makerAt(maker), reader)).toBe(expected);
});
