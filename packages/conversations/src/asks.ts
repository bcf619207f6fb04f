import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';

// What a request names and Redis does not have is asked of the recorder, which alone knows the database. It brings it back to Redis.

const ASKS = 'gateway:store:asks';
const answerName = (id: string): string => `gateway:store:answer:${id}`;

/** So long somebody waits, in milliseconds. */
const MAX_WAIT_MS = 5000;
/** After nobody answered, nobody waits for so long. */
const SILENCE_MS = 5000;
/** Answers are looked for again and again, at first soon. */
const [FIRST_LOOK_MS, MAX_LOOK_MS] = [4, 100];
/** After this time nobody waits for the answer any more. */
const ASKS_KEPT_SECONDS = 60;
const ANSWER_KEPT_MS = 10_000;

const Ask = z.object({
  id: z.string(),
  owner: z.string(),
  /** Records by their keys, such as `response:resp_…`; items by `item:` and their ids, or by `node:` and their nodes. */
  names: z.array(z.string()),
});
export type Ask = z.infer<typeof Ask>;

/** `away`: it cannot be found out now. */
type Answer = 'done' | 'away';

/**
 * Has what an owner has by these names in the database brought back to Redis, where it has any.
 *
 * @throws {Error} where that cannot be found out now
 */
export type BringBack = (owner: string, names: readonly string[]) => Promise<void>;

export function createBringBack(redis: Redis): BringBack {
  /** What is asked already. */
  const asked = new Map<string, Promise<void>>();
  let silentUntilMs = 0;

  const wait = async (id: string): Promise<void> => {
    const startMs = performance.now();
    for (let lookMs = FIRST_LOOK_MS; performance.now() - startMs < MAX_WAIT_MS; lookMs *= 1.5) {
      await setTimeout(Math.min(lookMs, MAX_LOOK_MS));
      const answer = await redis.get(answerName(id));
      if (answer === 'done') return;
      if (answer !== null) throw new Error('the database does not answer');
    }
    silentUntilMs = performance.now() + SILENCE_MS;
    throw new Error('no recorder answers');
  };
  const ask = async (owner: string, names: readonly string[]): Promise<void> => {
    if (performance.now() < silentUntilMs) throw new Error('no recorder answers');
    const id = randomUUID();
    const text = JSON.stringify({ id, owner, names: [...names] } satisfies Ask);
    await redis.multi().rpush(ASKS, text).expire(ASKS, ASKS_KEPT_SECONDS).exec();
    try {
      await wait(id);
    } catch (error) {
      await redis.lrem(ASKS, 1, text).catch(() => undefined);
      throw error;
    }
  };
  return (owner, names) => {
    const about = JSON.stringify([owner, ...names]);
    const running = asked.get(about) ?? ask(owner, names).finally(() => asked.delete(about));
    asked.set(about, running);
    return running;
  };
}

/** The next one that waits for an answer; null where none comes soon. @param redis a connection that may block */
export async function takeAsk(redis: Redis): Promise<Ask | null> {
  const [, text] = (await redis.blpop(ASKS, 1)) ?? [];
  return text === undefined ? null : Ask.parse(JSON.parse(text));
}

/** Leaves one to another recorder. */
export async function giveBackAsk(redis: Redis, ask: Ask): Promise<void> {
  await redis.multi().lpush(ASKS, JSON.stringify(ask)).expire(ASKS, ASKS_KEPT_SECONDS).exec();
}

export async function answerAsk(redis: Redis, { id }: Ask, answer: Answer): Promise<void> {
  await redis.set(answerName(id), answer, 'PX', ANSWER_KEPT_MS);
}
