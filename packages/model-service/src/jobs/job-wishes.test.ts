import { JOB_WAIT_LIMIT_MS } from '@gateway/contracts/time-limits';
import { expect, test } from 'vitest';
import { wishesOf } from './job-wishes.ts';

const CASES = [
  [{}, { isDetached: false, waitMs: null, applied: null, idempotencyKey: null }],
  [{ prefer: 'respond-async' }, { isDetached: true, waitMs: 0, applied: 'respond-async' }],
  [{ prefer: 'wait=10' }, { isDetached: true, waitMs: 10_000, applied: 'wait=10' }],
  [{ prefer: 'Respond-Async, WAIT = "7"' }, { waitMs: 7000, applied: 'respond-async, wait=7' }],
  [{ prefer: 'wait=5, wait=9; strict' }, { waitMs: 5000 }],
  [{ prefer: 'wait=0' }, { isDetached: true, waitMs: 0 }],
  [{ prefer: 'wait=999999' }, { waitMs: JOB_WAIT_LIMIT_MS }],
  [{ prefer: 'return=minimal; wait=3, handling=lenient' }, { isDetached: false, applied: null }],
  [{ prefer: 'wait=soon, wait=-1, __proto__=1' }, { isDetached: false, waitMs: null }],
  [{ 'idempotency-key': 'a b' }, { isDetached: true, waitMs: null, applied: null, idempotencyKey: 'a b' }],
] as const;

test.for(CASES)('headers %j are read as wishes %j', ([headers, wishes]) => {
  expect(wishesOf({ headers })).toMatchObject(wishes);
});
