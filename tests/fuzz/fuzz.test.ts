import { isLongRun } from '@gateway/testkit/is-long-run';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Gateway } from '../support/start-gateway.ts';
import { ALL_PROPERTIES } from './all-properties.ts';
import { startFuzzedGateway } from './fuzzed-gateway.ts';

/** Whatever callers and providers send: a well-formed answer. `npm run fuzz` sends more of it. */

const SEED = 20261123;
const RUNS = isLongRun ? 60 : 20;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startFuzzedGateway();
});
afterAll(() => gateway?.close());

describe('a caller gets a well-formed answer, and never an internal error, for any', () => {
  test.for(ALL_PROPERTIES)('$name', async ({ run }) => {
    await run(gateway, { seed: SEED, numRuns: RUNS });
    expect(gateway.lines.filter(({ text }) => text.includes('"error.code":"internal"'))).toEqual([]);
  });
});
