import { REDACTIONS } from '@gateway/contracts/content-log';
import { expect, test } from 'vitest';
import type { ContentLogSettings } from './content-log.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const REST = `channels:
  one: { provider: openai, apiKey: some-key }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;

const parse = (section: string): ContentLogSettings | null =>
  parseConfiguration(REST + section, 'gateway.yaml', {}).contentLog;

function mistakesOf(section: string): string[] {
  try {
    parse(section);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.mistakes.map(
      ({ line, path, found, expected }) => `${line} ${path}: found ${found}, expected ${expected}`,
    );
  }
  return [];
}

test('nothing is logged without a section; one is read with its defaults', () => {
  expect(parse('')).toBeNull();
  const section = `contentLog:
  patterns: { customer: 'KD-\\d{6}' }
  rules:
    - {}
    - { keys: [key_a], teams: [search], models: ["gpt-*"], share: 0.1, redact: [email, customer], mayOptOut: true }
`;
  expect(parse(section)).toEqual({
    retentionMs: 30 * 86_400_000,
    maxBytes: 1024 ** 2,
    patterns: { customer: 'KD-\\d{6}' },
    readers: [],
    rules: [
      {
        ...{ keys: null, teams: null, models: null, share: 1, mayOptOut: false },
        redact: [...REDACTIONS, 'customer'],
      },
      {
        ...{ keys: ['key_a'], teams: ['search'], models: ['gpt-*'], share: 0.1, mayOptOut: true },
        redact: ['email', 'customer'],
      },
    ],
  });
});

test('mistakes of a section are named with their lines and what is taken', () => {
  const section = `contentLog:
  retentionDays: 0
  readers: [viewer, everybody]
  rules:
    - { share: 2, model: gpt-5 }
`;
  expect(mistakesOf(section)).toEqual([
    '6 contentLog.retentionDays: found 0, expected more than 0',
    '7 contentLog.readers[1]: found "everybody", expected one of viewer, team-lead',
    '9 contentLog.rules[0].share: found 2, expected at most 1',
    expect.stringMatching(/^9 contentLog\.rules\[0\]\.model: .*did you mean "models"/),
  ]);
});

test('so are patterns that cannot be used, and rules that name none', () => {
  const section = `contentLog:
  patterns:
    Customer: 'KD'
    email: '@'
    twice: '(a)\\1'
    nothing: 'a*'
  rules:
    - { redact: [emial, card] }
`;
  expect(mistakesOf(section)).toEqual([
    expect.stringMatching(/^7 contentLog\.patterns\.Customer: .* small letters/),
    expect.stringMatching(/^8 contentLog\.patterns\.email: .* no built-in pattern has/),
    expect.stringMatching(/^9 contentLog\.patterns\.twice: .* syntax of RE2/),
    expect.stringMatching(/^10 contentLog\.patterns\.nothing: found one that matches nothing too/),
    expect.stringMatching(/^12 contentLog\.rules\[0\]\.redact\[0\]: .* one of the patterns email, /),
  ]);
});
