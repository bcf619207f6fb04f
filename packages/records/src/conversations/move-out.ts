import { randomUUID } from 'node:crypto';
import { type MoveScripts, storeNames, USERS, uses } from '@gateway/conversations/store-scripts';
import { QueryError } from '../database/database.ts';
import type { ConversationMoverOptions } from './conversation-mover.ts';
import { type ColdTree, exportTree } from './export-tree.ts';
import { rememberedNames } from './moved-members.ts';
import { bytesOf, hasTree, type MovingTree, setMoved } from './moving-trees.ts';
import { checkMover, moveKeysOf, noteEnd } from './note-moves.ts';
import { deleteTree, readTree } from './stored-tree.ts';
import { insertTree, type NewTree, PHASES, type TreeName } from './tree-rows.ts';

/** The way of trees to the database. */
export interface MoveOut {
  /** Those that were not used since a moment, some of them. */
  coldTrees(beforeMs: number): Promise<readonly ColdTree[]>;
  /** Writes their rows, and takes them from Redis. Resolves to how many were moved. */
  moveTrees(trees: readonly ColdTree[]): Promise<number>;
  /** Takes trees, whose rows are there, from Redis. One that was used meanwhile loses its rows. Resolves to how many were moved. */
  finish(rows: readonly MovingTree[]): Promise<number>;
}

interface MoveOutOptions
  extends Pick<ConversationMoverOptions, 'redis' | 'database' | 'lease' | 'holder' | 'now'> {
  readonly scripts: MoveScripts;
}

/** Trees of one transaction, and owners that are looked at in one go. */
const [TREES_AT_ONCE, OWNERS_AT_ONCE] = [16, 16];

export function createMoveOut({ redis, database, lease, holder, now, scripts }: MoveOutOptions): MoveOut {
  const finish = async (rows: readonly MovingTree[]): Promise<number> => {
    if (rows.length === 0) return 0;
    const { trees, bytes } = await database.read(async (queries) => ({
      trees: await inTurn(rows, (row) => readTree(queries, row)),
      bytes: await bytesOf(queries, rows),
    }));
    const left: MovingTree[] = [];
    const moved: MovingTree[] = [];
    for (const [at, row] of rows.entries()) {
      const { owner, root, move, usedMs } = row;
      const tree = trees[at];
      if (tree === undefined) continue;
      const answer = await scripts.moveOut(
        moveKeysOf(owner),
        ...[owner, holder, root, move, usedMs, bytes.get(owner) ?? 0, tree.parts.length],
        ...tree.parts.flatMap(({ digest, name }) => [digest, name]),
        ...rememberedNames(tree),
      );
      (checkMover(answer) === 0 ? left : moved).push(row);
    }
    const after = await lease.write(async (queries) => {
      await setMoved(queries, moved);
      for (const row of left) await deleteTree(queries, await readTree(queries, row));
      return bytesOf(queries, rows);
    });
    await noteEnd(redis, after, moved);
    return moved.length;
  };

  const coldTrees = async (beforeMs: number): Promise<readonly ColdTree[]> => {
    const owners = await redis.zrangebyscore(USERS, '-inf', `(${beforeMs}`, 'LIMIT', 0, OWNERS_AT_ONCE);
    const cold: ColdTree[] = [];
    for (const owner of owners) {
      const values = await scripts.listCold(storeNames(owner), owner, beforeMs, TREES_AT_ONCE);
      for (let at = 0; at < values.length; at += 2)
        cold.push({ owner, root: values[at] ?? '', usedMs: Number(values[at + 1]) });
      if (cold.length >= TREES_AT_ONCE) break;
    }
    return cold;
  };

  const moveTrees = async (trees: readonly ColdTree[]): Promise<number> => {
    const exported: NewTree[] = [];
    const skip = ({ owner, root }: TreeName) => redis.zadd(uses(owner), 'XX', now(), root);
    for (const tree of trees) {
      // Redis has one again without having been given it back, and used it since: it was set back.
      if (await database.read((queries) => hasTree(queries, tree)))
        await lease.write(async (queries) => deleteTree(queries, await readTree(queries, tree)));
      const found = await exportTree({ scripts, database }, tree);
      if (found === null) await skip(tree);
      else exported.push(found);
    }
    // One after the other in one transaction: trees of an owner may begin alike.
    const rows = exported.map((tree) => ({ tree, move: randomUUID() }));
    try {
      await lease.write(async (queries) => {
        for (const { tree, move } of rows) await insertTree(queries, tree, move);
      });
    } catch (error) {
      if (!(error instanceof QueryError) || error.kind !== 'data') throw error;
      // One that the database never takes stays in Redis.
      for (const { tree } of trees.length === 1 ? rows : []) await skip(tree);
      let moved = 0;
      for (const tree of trees.length === 1 ? [] : trees) moved += await moveTrees([tree]);
      return moved;
    }
    return finish(rows.map(({ tree, move }) => rowOf(tree, move)));
  };

  return { coldTrees, moveTrees, finish };
}

async function inTurn<Value, Result>(
  values: readonly Value[],
  work: (value: Value) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const value of values) results.push(await work(value));
  return results;
}

const rowOf = ({ owner, root, usedMs, expiresMs, hasHole }: NewTree, move: string): MovingTree => ({
  ...{ owner, root, usedMs, expiresMs, hasHole },
  phase: PHASES.leaving,
  move,
});
