import { type Batcher, createBatcher } from '@gateway/redis/batcher';
import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { clockArgument, type LimitClock, loadScript, redisClock } from '../load-script.ts';

/** One operation of a batch: all of it or nothing, independent of the others in its batch. */
export interface Operation {
  readonly name: 'admit' | 'free' | 'reserve' | 'enter' | 'settle';
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Runs operations, many in one call of one script. */
export type OperationBatch = Batcher<Operation>;

/** The script of a batch; see `run-operations.lua` for its arguments. */
export const RUN_OPERATIONS = loadScript(
  new URL('./counters.lua', import.meta.url),
  new URL('../limits/admit.lua', import.meta.url),
  new URL('../ledger/reserve.lua', import.meta.url),
  new URL('../ledger/enter.lua', import.meta.url),
  new URL('../ledger/settle.lua', import.meta.url),
  new URL('./run-operations.lua', import.meta.url),
);

/** Bounds the time for which a script blocks Redis: one operation takes some 20 µs. */
const MAX_OPERATIONS = 64;
const MAX_ARGUMENTS = 4000;

interface OperationBatchOptions {
  readonly redis: Redis;
  readonly clock?: LimitClock;
}

/** One for each connection: what all parts of a process send to Redis goes in the same calls. */
export function createOperationBatch({ redis, clock = redisClock }: OperationBatchOptions): OperationBatch {
  const run = defineScript(redis, 'gatewayRunOperations', RUN_OPERATIONS, z.array(z.unknown()));
  return createBatcher({
    maxItems: MAX_OPERATIONS,
    maxSize: MAX_ARGUMENTS,
    sizeOf: ({ keys, args }) => keys.length + args.length,
    send: (operations) =>
      run(
        operations.flatMap(({ keys }) => keys),
        clockArgument(clock),
        ...operations.flatMap(({ name, keys, args }) => [name, keys.length, args.length, ...args]),
      ),
  });
}
