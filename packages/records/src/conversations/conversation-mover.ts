import { randomUUID } from 'node:crypto';
import {
  defineMoveScripts,
  MOVED,
  MOVED_IS_WHOLE,
  MOVER,
  MOVES,
  movedBytes,
  ownerOf,
  uses,
} from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import type { Lease } from '../recorder/lease.ts';
import { createMoveOut } from './move-out.ts';
import { membersOf, noteOwners } from './moved-members.ts';
import {
  allMembers,
  allTrees,
  bytesOf,
  type MovingTree,
  readExpired,
  readMoving,
  readNamed,
  startMove,
} from './moving-trees.ts';
import { checkMover, moveKeysOf, noteEnd } from './note-moves.ts';
import { deleteTree, readTree, type StoredTree } from './stored-tree.ts';
import { PHASES } from './tree-rows.ts';

export interface ConversationMoverOptions {
  readonly redis: Redis;
  readonly database: Database;
  readonly lease: Pick<Lease, 'write'>;
  /** This recorder's own name. */
  readonly holder: string;
  readonly now: () => number;
  /** What was not used for so long is moved; 0: nothing is. */
  readonly moveAfterMs: number;
}

export interface MovedCounts {
  readonly movedOut: number;
  readonly broughtBack: number;
  readonly expired: number;
}

/**
 * Brings trees of stored conversations to the database and back. Where a tree is, Redis decides in one script: the database has its
 * rows before it leaves Redis, and until it is there again. Each move has an id that Redis remembers until the database knows that it
 * is over, so that a move which was cut off is done again, once. All calls of one mover run one after the other.
 */
export interface ConversationMover {
  /** Finishes what an earlier recorder has left. To be called first, and after anything has failed. */
  begin(): Promise<void>;
  /** Moves some that were not used for long. Resolves to how many. */
  moveSome(): Promise<number>;
  /** Brings back what these names name, of an owner. */
  bringBack(owner: string, names: readonly string[]): Promise<void>;
  /** Deletes some that have expired. Resolves to how many. */
  expireSome(): Promise<number>;
  readonly counts: MovedCounts;
}

/** Names that one command looks through. */
const SCANNED = 1000;

export function createConversationMover(options: ConversationMoverOptions): ConversationMover {
  const { redis, database, lease, holder, now, moveAfterMs } = options;
  const scripts = defineMoveScripts(redis);
  const counts = { movedOut: 0, broughtBack: 0, expired: 0 };
  const out = createMoveOut({ ...options, scripts });

  /** Puts a tree into Redis, and deletes its rows. */
  const finishBack = async (row: MovingTree, tree: StoredTree): Promise<void> => {
    const { owner } = row;
    const answer = await scripts.bringBack(
      moveKeysOf(owner),
      ...[owner, holder, JSON.stringify(bodyOf(row, tree))],
      ...tree.nodes.map(({ json }) => json),
    );
    checkMover(answer);
    const after = await lease.write(async (queries) => {
      await deleteTree(queries, tree);
      return bytesOf(queries, [row]);
    });
    await noteEnd(redis, after, [row]);
    counts.broughtBack += 1;
  };

  const finishAll = async (rows: readonly MovingTree[]): Promise<void> => {
    counts.movedOut += await out.finish(rows.filter(({ phase }) => phase === PHASES.leaving));
    for (const row of rows)
      if (row.phase === PHASES.returning)
        await finishBack(row, await database.read((queries) => readTree(queries, row)));
  };

  /** Rows of the database that Redis has as well, after it was set back: the later one counts. */
  const settleDoubles = async (trees: readonly MovingTree[]): Promise<void> => {
    const pipeline = redis.pipeline();
    for (const { owner, root } of trees) pipeline.zscore(uses(owner), root);
    const found = (await pipeline.exec()) ?? [];
    const doubled = trees
      .filter((_, at) => (found[at]?.[1] ?? null) !== null)
      .map((row) => ({ ...row, phase: PHASES.leaving, move: randomUUID() }));
    if (doubled.length === 0) return;
    await lease.write(async (queries) => {
      for (const row of doubled) await startMove(queries, row);
    });
    counts.movedOut += await out.finish(doubled);
  };

  /** Notes in Redis all that is in the database, where it was emptied, or set back. */
  const noteAll = async (): Promise<void> => {
    if ((await redis.sismember(MOVED, MOVED_IS_WHOLE)) === 1) return;
    await noteOwners(redis, database);
    for await (const names of redis.scanStream({ match: movedBytes('*'), count: SCANNED })) {
      const owners = z
        .array(z.string())
        .parse(names)
        .map((name) => ({ owner: ownerOf(name) }));
      await noteEnd(redis, await database.read((queries) => bytesOf(queries, owners)), []);
    }
    for await (const trees of allTrees(database)) await settleDoubles(trees);
    for await (const members of allMembers(database)) await redis.sadd(MOVED, ...members);
    await redis.sadd(MOVED, MOVED_IS_WHOLE);
  };

  /** Runs one after the other. */
  let last: Promise<unknown> = Promise.resolve();
  const alone = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };

  return {
    counts,
    begin: () =>
      alone(async () => {
        await redis.set(MOVER, holder);
        const fields = await redis.hkeys(MOVES);
        await finishAll(await database.read(readMoving));
        // Of moves that were over for the database, which Redis was not told.
        const trees = fields.map((field) => ({ owner: field.slice(0, field.indexOf('\0')) }));
        await noteEnd(redis, await database.read((queries) => bytesOf(queries, trees)), []);
        if (fields.length > 0) await redis.hdel(MOVES, ...fields);
        await noteAll();
      }),
    moveSome: () =>
      alone(async () => {
        const trees = moveAfterMs > 0 ? await out.coldTrees(now() - moveAfterMs) : [];
        if (trees.length > 0) counts.movedOut += await out.moveTrees(trees);
        return trees.length;
      }),
    bringBack: (owner, names) =>
      alone(async () => {
        const rows = await database.read((queries) => readNamed(queries, { owner, names, nowMs: now() }));
        for (const row of rows) {
          const returning = { ...row, phase: PHASES.returning, move: randomUUID() };
          const tree = await lease.write(async (queries) => {
            await startMove(queries, returning);
            return readTree(queries, row);
          });
          await finishBack(returning, tree);
        }
      }),
    expireSome: () =>
      alone(async () => {
        const trees = await database.read((queries) => readExpired(queries, now()));
        for (const name of trees) {
          const tree = await database.read((queries) => readTree(queries, name));
          const { owner } = name;
          const members = membersOf(tree);
          const gone = tree.parts.filter(({ digest }) => tree.removal.parts.has(digest));
          checkMover(
            await scripts.forgetMoved(
              moveKeysOf(owner),
              ...[owner, holder, members.length, ...members],
              ...gone.flatMap((part) => [part.digest, part.name]),
            ),
          );
          const after = await lease.write(async (queries) => {
            await deleteTree(queries, tree);
            return bytesOf(queries, [name]);
          });
          await noteEnd(redis, after, []);
          counts.expired += 1;
        }
        return trees.length;
      }),
  };
}

/** What the script that brings a tree back reads. */
const bodyOf = ({ root, move, expiresMs, hasHole }: MovingTree, tree: StoredTree) => ({
  root,
  move,
  expires: expiresMs ?? '',
  hasHole,
  records: tree.records.map(({ key, content, origin }) => [
    ...[key, content],
    ...[origin?.text ?? '', origin?.untilMs ?? 0],
  ]),
  parts: Object.fromEntries(
    tree.parts.map(({ digest, name, sizeBytes }) => [
      digest,
      { name, size: sizeBytes, isHeld: !tree.removal.parts.has(digest) },
    ]),
  ),
  nodes: tree.nodes.map(({ node, parent, id, maker, part, origin }) => [
    ...[node, parent, id, maker, part],
    ...[origin?.text ?? '', origin?.untilMs ?? 0],
  ]),
});
