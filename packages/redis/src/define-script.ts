import { readFileSync } from 'node:fs';
import type { Redis, Result } from 'ioredis';
import type { z } from 'zod';

type ScriptName = `gateway${string}`;
type Argument = string | number | Buffer;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** A defined script: the number of its keys, the keys, and its other arguments. */
    [script: ScriptName]: (keyCount: number, ...args: readonly Argument[]) => Result<unknown, Context>;
  }
}

/** Runs a script. Rejects with what Redis throws. */
export type RunScript<Reply> = (keys: readonly string[], ...args: readonly Argument[]) => Promise<Reply>;

/** The text of a script in several files, of which the first may hold functions for the others. */
export const readScript = (...files: readonly URL[]): string =>
  files.map((file) => readFileSync(file, 'utf8')).join('\n');

/**
 * Defines a script on a connection, which sends its text once and then its hash. In a transaction it is called by its name,
 * with the number of its keys first.
 */
export function defineScript<Reply>(
  redis: Redis,
  name: ScriptName,
  lua: string,
  reply: z.ZodType<Reply>,
): RunScript<Reply> {
  redis.defineCommand(name, { lua });
  return async (keys, ...args) => reply.parse(await redis[name]?.(keys.length, ...keys, ...args));
}
