import { MOVER, MOVES, movedBytes, moveField, storeNames } from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import type { TreeName } from './tree-rows.ts';

/** Another recorder moves, or Redis was emptied. */
export class NotTheMover extends Error {}

/** What a script that moves, or forgets, answered. @throws {NotTheMover} */
export function checkMover(answer: number): number {
  if (answer < 0) throw new NotTheMover('another recorder moves, or Redis was emptied');
  return answer;
}

/** The keys of scripts that move trees of an owner. */
export const moveKeysOf = (owner: string): readonly string[] => [...storeNames(owner), MOVER];

/** Notes in Redis what owners have in the database now, and that moves are over. */
export async function noteEnd(
  redis: Redis,
  bytes: ReadonlyMap<string, number | null>,
  trees: readonly TreeName[],
): Promise<void> {
  const pipeline = redis.pipeline();
  for (const [owner, count] of bytes)
    if (count === null) pipeline.del(movedBytes(owner));
    else pipeline.set(movedBytes(owner), count);
  for (const { owner, root } of trees) pipeline.hdel(MOVES, moveField(owner, root));
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
}
