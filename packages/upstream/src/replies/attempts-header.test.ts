import { expect, test } from 'vitest';
import { attemptsHeader } from './attempts-header.ts';

type Facts = Parameters<typeof attemptsHeader>[0][number];

const attempt = (channel: string, more: Partial<Facts> = {}): Facts => ({
  channel,
  account: 'default',
  outcome: 'ok',
  status: 200,
  durationMs: 41.6,
  isHedge: false,
  ...more,
});

test('each attempt is named with its outcome, status and time, in order', () => {
  const failed = attempt('1.one', { outcome: 'unreachable', status: null, durationMs: 3 });
  expect(attemptsHeader([failed, attempt('two')])).toBe(
    '"1.one";outcome=unreachable;ms=3, "two";outcome=ok;status=200;ms=42',
  );
  expect(attemptsHeader([])).toBeNull();
});

test('of many attempts those in the middle are only counted', () => {
  const many = Array.from({ length: 100 }, (_, index) =>
    attempt(`c${index}`, { outcome: 'busy', status: null }),
  );
  const members = attemptsHeader(many)?.split(', ') ?? [];
  expect(members).toHaveLength(17);
  expect(members[8]).toBe('more;count=84');
  expect(members.at(-1)).toContain('"c99"');
});
