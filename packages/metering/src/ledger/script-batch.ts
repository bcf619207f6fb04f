import type { Redis } from 'ioredis';

type Script = 'gatewayReserve' | 'gatewaySettle';
type Arguments = readonly (string | number)[];

interface Queued {
  readonly script: Script;
  readonly keyCount: number;
  readonly args: Arguments;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (cause: unknown) => void;
}

/** Runs scripts whose answers no request waits for. */
export interface ScriptBatch {
  /** In the order of the calls, a few milliseconds later. */
  run(script: Script, keyCount: number, args: Arguments): Promise<unknown>;
}

/** How long the first of a batch waits for others. No provider answers in that time. */
const GATHER_MS = 2;

/**
 * Writes what comes within two milliseconds as one: a write to Redis' socket and the wake-up for its answer cost a
 * process several times what the command itself does.
 */
export function createScriptBatch(redis: Redis): ScriptBatch {
  let queue: Queued[] = [];

  const flush = async (): Promise<void> => {
    const batch = queue;
    queue = [];
    const pipeline = redis.pipeline();
    for (const { script, keyCount, args } of batch) pipeline[script](keyCount, ...args);
    try {
      const answers = await pipeline.exec();
      batch.forEach(({ resolve, reject }, index) => {
        const [error, answer] = answers?.[index] ?? [new Error('Redis did not answer')];
        if (error === null) resolve(answer);
        else reject(error);
      });
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
    }
  };

  return {
    run: (script, keyCount, args) =>
      new Promise((resolve, reject) => {
        if (queue.length === 0) setTimeout(() => void flush(), GATHER_MS);
        queue.push({ script, keyCount, args, resolve, reject });
      }),
  };
}
