import { expect, test } from 'vitest';
import { decideStoring } from './decide-storing.ts';

const PROVIDER = { isProviders: true, saysUnstored: false };
const DENIES = { isProviders: true, saysUnstored: true };
const OURS = { isProviders: false, saysUnstored: false };
const SAYS_UNSTORED = { isProviders: false, saysUnstored: true };

/** A row for each kind of answer: what is requested, who stores it, whether all before it is here; where it is stored, `store`. */
const CASES = [
  ['wanted', PROVIDER, 'whole', 'here', null],
  ['wanted', PROVIDER, 'part', 'provider', null],
  ['wanted', DENIES, 'whole', 'nowhere', null],
  ['wanted', DENIES, 'part', 'nowhere', null],
  ['wanted', OURS, 'whole', 'here', null],
  ['wanted', OURS, 'part', 'nowhere', false],
  ['wanted', SAYS_UNSTORED, 'whole', 'here', true],
  ['wanted', SAYS_UNSTORED, 'part', 'nowhere', false],
  ['refused', PROVIDER, 'whole', 'nowhere', false],
  ['refused', DENIES, 'whole', 'nowhere', null],
  ['refused', OURS, 'part', 'nowhere', false],
  ['refused', SAYS_UNSTORED, 'whole', 'nowhere', false],
  ['unwanted', PROVIDER, 'whole', 'nowhere', null],
  ['unwanted', DENIES, 'part', 'nowhere', null],
  ['unwanted', SAYS_UNSTORED, 'whole', 'nowhere', null],
] as const;

test.for(CASES)('%s, %o, %s: stored %s, shown as %s', ([storing, maker, history, where, shown]) => {
  const isWhole = history === 'whole';
  expect(decideStoring({ storing, ...maker, isWhole })).toEqual({ where, shown });
});
