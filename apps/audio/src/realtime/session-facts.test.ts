import { expect, test } from 'vitest';
import { createSessionFacts } from './session-facts.ts';

const BASE64_OF_A_SECOND = 64_000;

test('the sound that was heard needs room in the limit on sound, a second at most', () => {
  const facts = createSessionFacts(null);
  expect(facts.largest(undefined).audioMs).toBe(0);
  facts.heard(BASE64_OF_A_SECOND / 4);
  expect(facts.largest(undefined).audioMs).toBe(250);
  facts.heard(30 * BASE64_OF_A_SECOND);
  expect(facts.largest(undefined).audioMs).toBe(1000);
  expect(facts.takeHeardMs()).toBe(30_250);
  expect(facts.largest(undefined).audioMs).toBe(0);
});
