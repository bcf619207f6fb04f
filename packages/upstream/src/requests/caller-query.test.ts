import { expect, test } from 'vitest';
import { callerQuery } from './caller-query.ts';

test.for([
  ['beta=true', 'beta=true'],
  ['beta=true&x=%2F+y&x=', 'beta=true&x=%2F+y&x='],
  ['include[]=a&starting_after=3', 'include[]=a&starting_after=3'],
  ['keys=1&monkey=2&x=key', 'keys=1&monkey=2&x=key'],
  ['key=AIza&beta=true', 'beta=true'],
  ['access_token=x', ''],
  ['a=1&api-key=x&Subscription-Key=y&oauth_token=z', 'a=1'],
  ['X-Amz-Credential=a&x-amz-signature=b', ''],
  ['%6Bey=AIza', ''],
] as const)('of the query %s a provider gets %s', ([query, kept]) => {
  expect(callerQuery(query, false)).toBe(kept);
});

test.for([
  ['beta=true&b=x+y&b=2&b=1&a', 'beta=true&b=x%20y&b=2&b=1&a='],
  ['c=%zz&=x&a&&', 'c=%25zz&a='],
  ['include[]=a&%C3%A4=1&x%2Damz-date=2', ''],
] as const)('where it is signed, of the query %s a provider gets %s', ([query, kept]) => {
  expect(callerQuery(query, true)).toBe(kept);
});
