import { movedBytes } from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import type { StoredTree } from './stored-tree.ts';

/** For whom Redis' set has a record: for every key where its id has an origin, as the prelude of the scripts says. */
export const memberOf = (owner: string, key: string, hasOrigin: boolean): string =>
  hasOrigin ? key : `${owner}\0${key}`;

/** The ids of a tree whose origins the database has. */
export const rememberedNames = ({
  records,
  nodes,
}: Pick<StoredTree, 'records' | 'nodes'>): readonly string[] => [
  ...records.flatMap(({ key, origin }) => (origin === null ? [] : [key])),
  ...nodes.flatMap(({ id, origin }) => (origin === null ? [] : [`item:${id}`])),
];

/** What the set has for a tree and nothing else. */
export const membersOf = ({ owner, records, nodes, removal }: StoredTree): readonly string[] => [
  ...records.map(({ key, origin }) => memberOf(owner, key, origin !== null)),
  ...nodes.flatMap(({ node, id, origin }) =>
    origin !== null && removal.nodes.has(node) ? [`item:${id}`] : [],
  ),
];

const Owners = z.array(z.object({ owner: z.string(), bytes: z.int() }));
const PAGE = 1000;

/** Notes in Redis what each owner has in the database. */
export async function noteOwners(redis: Redis, database: Pick<Database, 'read'>): Promise<void> {
  for (let after = ''; ; ) {
    const from = after;
    const owners = Owners.parse(
      await database.read(({ query }) =>
        query(
          `select owner, bytes from stored_owners where owner > $1 and records > 0 order by owner limit ${PAGE}`,
          [from],
        ),
      ),
    );
    const last = owners.at(-1);
    if (last === undefined) return;
    const pipeline = redis.pipeline();
    for (const { owner, bytes } of owners) pipeline.set(movedBytes(owner), bytes);
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
    after = last.owner;
  }
}
