import { REDACTIONS } from '@gateway/contracts/content-log';
import { expect, test } from 'vitest';
import { createRedactor } from './redactor.ts';

const redacted = (text: string, patterns: Record<string, string> = {}): string =>
  createRedactor({ redact: [...REDACTIONS, ...Object.keys(patterns)], patterns }).text(text);

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----';

test.for([
  ['mail ann.lee+x@mail.example.co.uk now', 'mail [email] now'],
  ['<ann@example.com>,ben@example.org.', '<[email]>,[email].'],
  ['call +49 (0)151 234-5678 or +14155550123', 'call [phone] or [phone]'],
  ['call (415) 555-0123 or 415-555-0123 or 030 / 901820', 'call [phone] or [phone] or [phone]'],
  ['card 4111 1111 1111 1111, 378282246310005', 'card [card], [card]'],
  ['pay to DE89370400440532013000 or GB29 NWBK 6016 1331 9268 19 THANKS', 'pay to [iban] or [iban] THANKS'],
  ['from 203.0.113.9 and 2001:db8::ff00:42:8329, ::1', 'from [ip] and [ip], [ip]'],
  [`token ${JWT}.`, 'token [jwt].'],
  [
    'sk-ant-api03-abcdefghijklmnopqrst AKIAIOSFODNN7EXAMPLE ghp_abcdefghijklmnopqrstuvwxyz012345',
    '[api-key] [api-key] [api-key]',
  ],
  ['AIzaSyA1234567890abcdefghijklmnopqrstuv, Bearer abcdefghijklmnopqrstu==', '[api-key], [api-key]'],
  [`key: ${PEM}!`, 'key: [api-key]!'],
  ['gwk_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0', '[api-key]'],
] as const)('%s', ([text, expected]) => {
  expect(redacted(text)).toBe(expected);
});

test.for([
  'order 4111 1111 1111 1112 of 2026-11-27',
  'DE89370400440532013001 has another checksum',
  'at 12:30:45, version 1.2.3, 999.1.1.1, std::vector<int> a::b',
  'user @ home, a@b, task-skeleton-of-something-longer',
  'msg_9de51475cc2c7b6b9314fd4111111111111111 chatcmpl-4111111111111111f',
  'price 1,234.56 and 3.14159265358979, 20261127123045',
])('nothing is taken out of: %s', (text) => {
  expect(redacted(text)).toBe(text);
});

test("the operator's own patterns go first, and take linear time", () => {
  expect(redacted('KD-123456 of ann@example.com', { customer: 'KD-\\d{6}' })).toBe('[customer] of [email]');
  expect(redacted(`${'a'.repeat(200_000)}!`, { slow: '(a+)+$' })).toBe(`${'a'.repeat(200_000)}!`);
});

test.for([
  ['a@', 'a'.repeat(100_000)],
  ['digits', '1 '.repeat(50_000)],
  ['plus', '+1'.repeat(50_000)],
  ['colons', 'a:'.repeat(50_000)],
  ['tokens', 'eyJ'.repeat(40_000)],
  ['dots', 'a.'.repeat(50_000)],
  ['begin', '-----BEGIN PRIVATE KEY-----'.repeat(4000)],
  ['dashes', 'sk-'.repeat(40_000)],
] as const)('no text makes the built-in patterns slow: %s', ([, text]) => {
  // A pattern that takes quadratic time would run into the test's own limit.
  for (let round = 0; round < 5; round += 1) redacted(text);
});
