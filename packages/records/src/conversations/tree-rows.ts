import { OVERHEAD_BYTES } from '@gateway/conversations/store-scripts';
import { z } from 'zod';
import { placesOf, type Queries, type SqlValue } from '../database/database.ts';
import { storable } from '../usage/usage-groups.ts';

/** An id's origin, and until when it is known. */
export interface RememberedOrigin {
  readonly text: string;
  readonly untilMs: number;
}

/** Names a tree: an owner's record, and all that continue it. */
export interface TreeName {
  readonly owner: string;
  /** The record's key. */
  readonly root: string;
}

export interface TreeRecord {
  readonly key: string;
  /** The node of its last item; empty: it has none. */
  readonly head: string;
  /** As Redis has it (JSON). */
  readonly content: string;
  readonly sizeBytes: number;
  readonly origin: RememberedOrigin | null;
  /** The digests of its own parts. */
  readonly parts: readonly string[];
}

export interface TreeNode {
  readonly node: string;
  /** Empty: it is the first. */
  readonly parent: string;
  /** Of the item; empty: it has none. */
  readonly id: string;
  readonly maker: string;
  readonly json: string;
  /** The digest of what lies in a file; empty: all of it is in `json`. */
  readonly part: string;
  readonly origin: RememberedOrigin | null;
}

export interface TreePart {
  readonly digest: string;
  /** Of its file. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** A tree on its way into the database. */
export interface NewTree extends TreeName {
  readonly usedMs: number;
  readonly expiresMs: number | null;
  readonly hasHole: boolean;
  readonly records: readonly TreeRecord[];
  /** Those of its nodes that the database may lack. */
  readonly nodes: readonly TreeNode[];
  readonly parts: readonly TreePart[];
}

/** Whether a tree is on its way from Redis, in the database alone, or on its way back. */
export const PHASES = { leaving: 0, moved: 1, returning: 2 } as const;

/** Of indexed ids: PostgreSQL bounds what is in an index. */
const MAX_ID_CHARACTERS = 512;
/** As the column of its ids has it. */
export const indexedId = (id: string): string => storable(id.slice(0, MAX_ID_CHARACTERS));

/** Rows that one statement writes, or values that one looks for. */
const AT_ONCE = 200;

export function* slicesOf<Value>(values: readonly Value[]): Generator<readonly Value[]> {
  for (let at = 0; at < values.length; at += AT_ONCE) yield values.slice(at, at + AT_ONCE);
}

const Nodes = z.array(z.object({ node: z.string() }));

/** Which of these nodes the database has. */
export async function knownNodes(
  { query }: Queries,
  owner: string,
  nodes: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const some of slicesOf(nodes)) {
    const rows = await query(
      `select node from stored_nodes where owner = $1 and node in ${placesOf(1, some.length, 1)}`,
      [owner, ...some],
    );
    for (const { node } of Nodes.parse(rows)) known.add(node);
  }
  return known;
}

/** Writes a tree that the database does not have, as one that is leaving Redis. */
export async function insertTree(queries: Queries, tree: NewTree, move: string): Promise<void> {
  const { query } = queries;
  const { owner, root, records } = tree;
  const known = await knownNodes(
    queries,
    owner,
    tree.nodes.map(({ node }) => node),
  );
  const nodes = tree.nodes.filter(({ node }) => !known.has(node));
  const references = countReferences(records, nodes);
  await insertRows(
    queries,
    'stored_nodes',
    nodes.map(({ node, parent, id, maker, json, part, origin }) => ({
      owner,
      node,
      parent,
      item_id: indexedId(id),
      part,
      refs: references.nodes.get(node) ?? 0,
      size: OVERHEAD_BYTES + Buffer.byteLength(json),
      content: JSON.stringify([id, maker, json]),
      origin: origin?.text ?? null,
      origin_until: origin?.untilMs ?? null,
    })),
  );
  const isNew = new Set(nodes.map(({ node }) => node));
  for (const [node, count] of references.nodes)
    if (!isNew.has(node))
      await query('update stored_nodes set refs = refs + $3 where owner = $1 and node = $2', [
        owner,
        node,
        count,
      ]);
  let bytes = 0;
  for (const { digest, name, sizeBytes } of tree.parts) {
    const count = references.parts.get(digest) ?? 0;
    if (count === 0) continue;
    const rows = await query(
      `insert into stored_parts (owner, digest, name, size, refs) values ($1, $2, $3, $4, $5)
       on conflict (owner, digest) do update set refs = stored_parts.refs + excluded.refs returning refs`,
      [owner, digest, name, sizeBytes, count],
    );
    if (Refs.parse(rows)[0]?.refs === count) bytes += sizeBytes;
  }
  await insertRows(
    queries,
    'stored_records',
    records.map(({ key, head, content, sizeBytes, origin }) => ({
      owner,
      record_key: key,
      root,
      head,
      size: sizeBytes,
      content,
      origin: origin?.text ?? null,
      origin_until: origin?.untilMs ?? null,
    })),
  );
  await query(
    'insert into stored_trees (owner, root, phase, move, used_at, expires_at, has_hole) values ($1, $2, $3, $4, $5, $6, $7)',
    [owner, root, PHASES.leaving, move, tree.usedMs, tree.expiresMs, tree.hasHole ? 1 : 0],
  );
  for (const { json } of nodes) bytes += OVERHEAD_BYTES + Buffer.byteLength(json);
  for (const { sizeBytes } of records) bytes += sizeBytes;
  await addToOwner(queries, owner, bytes, records.length);
}

const Refs = z.array(z.object({ refs: z.int() }));

/** How often the new nodes and records lead to a node, or have a part. */
function countReferences(
  records: readonly TreeRecord[],
  nodes: readonly TreeNode[],
): Readonly<Record<'nodes' | 'parts', Map<string, number>>> {
  const counts = { nodes: new Map<string, number>(), parts: new Map<string, number>() };
  const count = (kind: keyof typeof counts, name: string) => {
    if (name !== '') counts[kind].set(name, (counts[kind].get(name) ?? 0) + 1);
  };
  for (const { parent, part } of nodes) {
    count('nodes', parent);
    count('parts', part);
  }
  for (const { head, parts } of records) {
    count('nodes', head);
    for (const digest of parts) count('parts', digest);
  }
  return counts;
}

async function insertRows(
  { query }: Queries,
  table: string,
  rows: readonly Readonly<Record<string, SqlValue>>[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  for (const some of slicesOf(rows))
    await query(
      `insert into ${table} (${columns.join(', ')}) values ${placesOf(some.length, columns.length)}`,
      some.flatMap((row) => columns.map((column) => row[column] ?? null)),
    );
}

/** Notes what an owner has in the database. */
export async function addToOwner(
  { query }: Queries,
  owner: string,
  bytes: number,
  records: number,
): Promise<void> {
  await query(
    `insert into stored_owners (owner, bytes, records) values ($1, $2, $3) on conflict (owner) do update
     set bytes = stored_owners.bytes + excluded.bytes, records = stored_owners.records + excluded.records`,
    [owner, bytes, records],
  );
}
