import type { Redis } from 'ioredis';
import { z } from 'zod';

type Arguments = readonly (string | number)[];

interface Waiting {
  readonly keyCount: number;
  readonly args: Arguments;
  readonly resolve: (answer: string[]) => void;
  readonly reject: (cause: unknown) => void;
}

/** Runs the script that keeps a record. What comes while others are on their way goes with the next ones, in one write. */
export type PutBatch = (keyCount: number, args: Arguments) => Promise<string[]>;

/** Keep the time for which Redis serves nobody else short. */
const MAX_TOGETHER = 32;

const Answer = z.array(z.string());

export function createPutBatch(redis: Redis): PutBatch {
  const waiting: Waiting[] = [];
  let isRunning = false;

  const alone = ({ keyCount, args, resolve, reject }: Waiting) =>
    redis.gatewayPutRecord(keyCount, ...args).then(resolve, reject);

  const together = async (batch: readonly Waiting[]): Promise<void> => {
    const pipeline = redis.pipeline();
    for (const { keyCount, args } of batch) pipeline.gatewayPutRecord(keyCount, ...args);
    const answers = (await pipeline.exec()) ?? [];
    for (const [index, one] of batch.entries()) {
      const [error = new Error('no answer'), answer] = answers[index] ?? [];
      // Redis was started again since the script was sent; sent alone it takes its script along.
      if (error?.message.startsWith('NOSCRIPT')) void alone(one);
      else if (error !== null) one.reject(error);
      else one.resolve(Answer.parse(answer));
    }
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_TOGETHER);
      const [first] = batch;
      if (batch.length === 1 && first !== undefined) await alone(first);
      else
        await together(batch).catch((cause: unknown) => {
          for (const { reject } of batch) reject(cause);
        });
    }
    isRunning = false;
  };

  return (keyCount, args) =>
    new Promise((resolve, reject) => {
      waiting.push({ keyCount, args, resolve, reject });
      if (!isRunning) void run();
    });
}
