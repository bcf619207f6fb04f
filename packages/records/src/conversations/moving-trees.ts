import { movedMember } from '@gateway/conversations/store-scripts';
import { z } from 'zod';
import { type Database, placesOf, type Queries } from '../database/database.ts';
import { storable } from '../usage/usage-groups.ts';
import { memberOf } from './moved-members.ts';
import { indexedId, PHASES, type TreeName } from './tree-rows.ts';

/** A tree of the database, and its last move. */
export interface MovingTree extends TreeName {
  readonly phase: number;
  readonly move: string;
  readonly usedMs: number;
  readonly expiresMs: number | null;
  readonly hasHole: boolean;
}

const COLUMNS = 'owner, root, phase, move, used_at, expires_at, has_hole';
const Rows = z.array(
  z.object({
    owner: z.string(),
    root: z.string(),
    phase: z.int(),
    move: z.string(),
    used_at: z.int(),
    expires_at: z.int().nullable(),
    has_hole: z.int(),
  }),
);
const Names = z.array(z.object({ owner: z.string(), root: z.string() }));

const treesIn = (rows: unknown): readonly MovingTree[] =>
  Rows.parse(rows).map(({ used_at: usedMs, expires_at: expiresMs, has_hole, ...rest }) => ({
    ...rest,
    usedMs,
    expiresMs,
    hasHole: has_hole === 1,
  }));

/** Trees of one page. */
const EXPIRED_AT_ONCE = 50;
const PAGE = 1000;

/** Those whose move is not over. */
export const readMoving = async ({ query }: Queries): Promise<readonly MovingTree[]> =>
  treesIn(await query(`select ${COLUMNS} from stored_trees where phase <> ${PHASES.moved}`));

/** Notes a move that begins. */
export async function startMove({ query }: Queries, { owner, root, phase, move }: MovingTree): Promise<void> {
  await query('update stored_trees set phase = $3, move = $4 where owner = $1 and root = $2', [
    owner,
    root,
    phase,
    move,
  ]);
}

/** Notes that trees are in the database alone. */
export async function setMoved({ query }: Queries, trees: readonly TreeName[]): Promise<void> {
  if (trees.length === 0) return;
  await query(
    `update stored_trees set phase = ${PHASES.moved} where (owner, root) in (values ${placesOf(trees.length, 2)})`,
    trees.flatMap(({ owner, root }) => [owner, root]),
  );
}

export const hasTree = async ({ query }: Queries, { owner, root }: TreeName): Promise<boolean> =>
  (await query('select root from stored_trees where owner = $1 and root = $2', [owner, root])).length > 0;

const Bytes = z.array(z.object({ owner: z.string(), bytes: z.int() }));

/** What the owners of trees have in the database; null: nothing. */
export async function bytesOf(
  { query }: Queries,
  trees: readonly Pick<TreeName, 'owner'>[],
): Promise<ReadonlyMap<string, number | null>> {
  const bytes = new Map<string, number | null>(trees.map(({ owner }) => [owner, null]));
  if (bytes.size === 0) return bytes;
  const rows = await query(
    `select owner, bytes from stored_owners where records > 0 and owner in ${placesOf(1, bytes.size)}`,
    [...bytes.keys()],
  );
  for (const row of Bytes.parse(rows)) bytes.set(row.owner, row.bytes);
  return bytes;
}

interface Named {
  readonly owner: string;
  /** As in an ask. */
  readonly names: readonly string[];
  readonly nowMs: number;
}

/** The trees that hold what these names name, and have not expired. Of several that hold an item it is one. */
export async function readNamed(
  { query }: Queries,
  { owner, names, nowMs }: Named,
): Promise<readonly MovingTree[]> {
  const roots = new Set<string>();
  for (const name of names) {
    const [, kind, id = ''] = ITEM.exec(name) ?? [];
    const rows =
      kind === undefined
        ? await query('select owner, root from stored_records where owner = $1 and record_key = $2', [
            owner,
            storable(name),
          ])
        : await query(
            `with recursive down (node) as (
               select node from stored_nodes where owner = $1 and ${kind === 'item' ? "item_id <> '' and item_id" : 'node'} = $2
               union
               select n.node from down join stored_nodes n on n.owner = $1 and n.parent = down.node
             )
             select r.owner, r.root from down join stored_records r on r.owner = $1 and r.head = down.node
             join stored_trees t on t.owner = r.owner and t.root = r.root
             where t.expires_at is null or t.expires_at > $3 limit 1`,
            [owner, indexedId(id), nowMs],
          );
    for (const { root } of Names.parse(rows)) roots.add(root);
  }
  if (roots.size === 0) return [];
  return treesIn(
    await query(
      `select ${COLUMNS} from stored_trees where owner = $1 and (expires_at is null or expires_at > $2)
       and root in ${placesOf(1, roots.size, 2)}`,
      [owner, nowMs, ...roots],
    ),
  );
}

const ITEM = /^(item|node):(.*)$/s;

/** Some that have expired. */
export const readExpired = async ({ query }: Queries, nowMs: number): Promise<readonly TreeName[]> =>
  Names.parse(
    await query(
      `select owner, root from stored_trees where expires_at <= $1 order by expires_at limit ${EXPIRED_AT_ONCE}`,
      [nowMs],
    ),
  );

/** All trees, page by page. */
export async function* allTrees(database: Pick<Database, 'read'>): AsyncGenerator<readonly MovingTree[]> {
  for (let [owner, root] = ['', '']; ; ) {
    const after = [owner, root];
    const page = treesIn(
      await database.read(({ query }) =>
        query(
          `select ${COLUMNS} from stored_trees where (owner, root) > ($1, $2) order by owner, root limit ${PAGE}`,
          after,
        ),
      ),
    );
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    ({ owner, root } = last);
  }
}

const MemberRows = z.array(
  z.object({ owner: z.string(), name: z.string(), content: z.string(), origin: z.string().nullable() }),
);
const ItemId = z.tuple([z.string()], z.unknown());

/** What stands in Redis' set for all that is in the database, page by page. */
export async function* allMembers(database: Pick<Database, 'read'>): AsyncGenerator<readonly string[]> {
  for (const { table, column, where } of [
    { table: 'stored_records', column: 'record_key', where: '' },
    { table: 'stored_nodes', column: 'node', where: 'and origin is not null' },
  ]) {
    for (let [owner, name] = ['', '']; ; ) {
      const after = [owner, name];
      const rows = MemberRows.parse(
        await database.read(({ query }) =>
          query(
            `select owner, ${column} as name, content, origin from ${table}
             where (owner, ${column}) > ($1, $2) ${where} order by owner, ${column} limit ${PAGE}`,
            after,
          ),
        ),
      );
      const last = rows.at(-1);
      if (last === undefined) break;
      yield rows.map((row) =>
        movedMember(
          table === 'stored_records'
            ? memberOf(row.owner, row.name, row.origin !== null)
            : `item:${ItemId.parse(JSON.parse(row.content))[0]}`,
        ),
      );
      ({ owner, name } = last);
    }
  }
}
