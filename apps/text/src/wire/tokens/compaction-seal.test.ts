import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBody } from '../raw-json.ts';
import { COMPACTION_PREFIX, type CompactedWindow, createCompactionSeals } from './compaction-seal.ts';

const seals = createCompactionSeals('a secret for tests only');
const WINDOW: CompactedWindow = {
  protocol: 'responses',
  summary: 'Grüße 🐳',
  before: [{ role: 'user', content: 'a' }],
  after: [parseBody('{"id":12345678901234567890}')],
  userMessages: 'within',
};

test('what was sealed is given back to its owner exactly, long numbers too', () => {
  const sealed = seals.seal(WINDOW, 'key_one');
  expect(JSON.stringify(seals.open(sealed, ['team:a', 'key_one']))).toBe(JSON.stringify(WINDOW));
});

test('nothing of it can be read, and no two seals are the same', () => {
  const [one, other] = [seals.seal(WINDOW, 'key_one'), seals.seal(WINDOW, 'key_one')];
  expect(one).toMatch(/^gwc1_[A-Za-z0-9_-]+$/);
  expect(Buffer.from(one.slice(COMPACTION_PREFIX.length), 'base64url').toString()).not.toContain('role');
  expect(one).not.toBe(other);
});

test("another owner's, and what another secret sealed, does not open", () => {
  expect(seals.open(seals.seal(WINDOW, 'key_two'), ['key_one', 'team:a'])).toBe('broken');
  const others = createCompactionSeals('another secret').seal(WINDOW, 'key_one');
  expect(seals.open(others, ['key_one'])).toBe('broken');
});

test('whichever character is changed, added or cut off, it does not open', () => {
  const sealed = seals.seal(WINDOW, 'key_one');
  const index = fc.integer({ min: COMPACTION_PREFIX.length, max: sealed.length - 1 });
  fc.assert(
    fc.property(index, fc.constantFrom('A', 'b', '7', '_'), (at, letter) => {
      const bytes = (text: string) => Buffer.from(text.slice(COMPACTION_PREFIX.length), 'base64url');
      const changed = sealed.slice(0, at) + letter + sealed.slice(at + 1);
      // The last letter has unused bits.
      fc.pre(!bytes(changed).equals(bytes(sealed)));
      expect(seals.open(changed, ['key_one'])).toBe('broken');
      expect(seals.open(sealed.slice(0, at), ['key_one'])).toBe('broken');
    }),
  );
  expect(seals.open(`${sealed}AAAA`, ['key_one'])).toBe('broken');
  expect(seals.open(COMPACTION_PREFIX, ['key_one'])).toBe('broken');
});

test('what somebody else sealed is recognised', () => {
  expect(seals.open('gAAAAABnotours', ['key_one'])).toBe('foreign');
});
