import type { Redis, Result } from 'ioredis';
import { clockArgument, type LimitClock, loadScript, redisClock } from '../load-script.ts';

/** One operation of a batch: all of it or nothing, independent of the others in its batch. */
export interface Operation {
  readonly name: 'admit' | 'free' | 'reserve' | 'enter' | 'settle';
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/**
 * Runs operations in the order of the calls, many in one call of one script. Operations that arrive in the same turn of the
 * event loop, or while a script runs, go together.
 */
export interface OperationBatch {
  /** For operations that a request waits for: sent after this turn of the event loop. */
  run(operation: Operation): Promise<unknown>;
  /** For operations that no request waits for: they go with the next `run`, or five milliseconds later. */
  runSoon(operation: Operation): Promise<unknown>;
  /**
   * Sends all operations of this turn after it, also while a script runs. Resolves when they are on their way: Redis runs them
   * before whatever anybody sends from then on.
   */
  sent(): Promise<void>;
  /** Waits until every operation has its answer or has failed. */
  flush(): Promise<void>;
}

interface Queued {
  readonly operation: Operation;
  /** A request waits for it. */
  readonly isAwaited: boolean;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (cause: unknown) => void;
}

declare module 'ioredis' {
  interface RedisCommander<Context> {
    gatewayRunOperations(keyCount: number, ...args: (string | number)[]): Result<unknown[], Context>;
  }
}

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
/** How long an operation that no request waits for may wait for others. Hardly any provider answers in that time. */
const GATHER_MS = 5;

interface OperationBatchOptions {
  readonly redis: Redis;
  readonly clock?: LimitClock;
}

/** One for each connection: what all parts of a process send to Redis goes in the same calls. */
export function createOperationBatch({ redis, clock = redisClock }: OperationBatchOptions): OperationBatch {
  redis.defineCommand('gatewayRunOperations', { lua: RUN_OPERATIONS });
  let queue: Queued[] = [];
  /** Scripts that have not answered yet. */
  let running = 0;
  /** How many of the queue a request waits for. */
  let awaited = 0;
  /** Set while the queue is to be sent after this turn of the event loop. */
  let immediate: NodeJS.Immediate | undefined;
  /** Set while the queue is to be sent soon. */
  let timer: NodeJS.Timeout | undefined;
  const onIdle: (() => void)[] = [];
  const onSent: (() => void)[] = [];

  const send = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (onSent.length === 0) {
      clearImmediate(immediate);
      immediate = undefined;
    }
    running += 1;
    const batch = takeBatch(queue);
    queue = queue.slice(batch.length);
    const keys: string[] = [];
    const args: (string | number)[] = [clockArgument(clock)];
    for (const { operation, isAwaited } of batch) {
      if (isAwaited) awaited -= 1;
      keys.push(...operation.keys);
      args.push(operation.name, operation.keys.length, operation.args.length, ...operation.args);
    }
    try {
      const answers = await redis.gatewayRunOperations(keys.length, ...keys, ...args);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
    } catch (cause) {
      // Redis is away or silent: operations that arrived meanwhile have waited as long, and were never sent.
      const waiting = queue;
      queue = [];
      awaited = 0;
      for (const { reject } of [...batch, ...waiting]) reject(cause);
    }
    running -= 1;
    if (running > 0) return;
    if (queue.length === 0) for (const resolve of onIdle.splice(0)) resolve();
    else if (onIdle.length > 0) void send();
    else schedule();
  };

  const sendTurn = (): void => {
    immediate = undefined;
    if (queue.length > 0) void send();
    while (onSent.length > 0 && queue.length > 0) void send();
    for (const resolve of onSent.splice(0)) resolve();
  };

  const schedule = (): void => {
    if (running > 0) return;
    if (awaited > 0 || queue.length >= MAX_OPERATIONS) immediate ??= setImmediate(sendTurn);
    else timer ??= setTimeout(() => void send(), GATHER_MS);
  };

  const add = (operation: Operation, isAwaited: boolean): Promise<unknown> =>
    new Promise((resolve, reject) => {
      queue.push({ operation, isAwaited, resolve, reject });
      if (isAwaited) awaited += 1;
      schedule();
    });

  return {
    run: (operation) => add(operation, true),
    runSoon: (operation) => add(operation, false),
    sent: () =>
      new Promise((resolve) => {
        onSent.push(resolve);
        immediate ??= setImmediate(sendTurn);
      }),
    flush: async () => {
      if (running === 0 && queue.length > 0) void send();
      if (running > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}

/** The first operations of a queue: as many as one call may hold, at least one. */
function takeBatch(queue: readonly Queued[]): readonly Queued[] {
  let size = 0;
  const end = queue.findIndex(({ operation }, index) => {
    size += operation.keys.length + operation.args.length;
    return index >= MAX_OPERATIONS || (index > 0 && size > MAX_ARGUMENTS);
  });
  return end < 0 ? queue : queue.slice(0, end);
}
