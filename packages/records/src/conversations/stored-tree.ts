import { z } from 'zod';
import { placesOf, type Queries } from '../database/database.ts';
import {
  addToOwner,
  type RememberedOrigin,
  slicesOf,
  type TreeName,
  type TreeNode,
  type TreePart,
  type TreeRecord,
} from './tree-rows.ts';

/** A tree that the database has. */
export interface StoredTree extends TreeName {
  readonly records: readonly TreeRecord[];
  /** All that its records lead to; others may lead there too. */
  readonly nodes: readonly TreeNode[];
  readonly parts: readonly TreePart[];
  /** What the database has no more without it. */
  readonly removal: Removal;
}

interface Removal {
  readonly nodes: ReadonlySet<string>;
  readonly parts: ReadonlySet<string>;
  readonly bytes: number;
  /** How many references are left of others. */
  readonly left: Readonly<Record<'nodes' | 'parts', ReadonlyMap<string, number>>>;
}

const Origin = { origin: z.string().nullable(), origin_until: z.int().nullable() };
const RecordRows = z.array(
  z.object({ record_key: z.string(), head: z.string(), size: z.int(), content: z.string(), ...Origin }),
);
const Content = z.object({ parts: z.union([z.array(z.string()), z.object({})]).optional() });
const NodeRows = z.array(
  z.object({
    node: z.string(),
    parent: z.string(),
    part: z.string(),
    refs: z.int(),
    size: z.int(),
    content: z.string(),
    ...Origin,
  }),
);
const NodeContent = z.tuple([z.string(), z.string(), z.string()]);
const PartRows = z.array(z.object({ digest: z.string(), name: z.string(), size: z.int(), refs: z.int() }));

/** An empty list is an object where Redis has written it. */
export function partsIn(content: string): readonly string[] {
  const { parts } = Content.parse(JSON.parse(content));
  return Array.isArray(parts) ? parts : [];
}

const originOf = ({
  origin,
  origin_until: untilMs,
}: {
  readonly origin: string | null;
  readonly origin_until: number | null;
}): RememberedOrigin | null => (origin === null || untilMs === null ? null : { text: origin, untilMs });

/** Reads a tree. One that is not there has no records. */
export async function readTree({ query }: Queries, { owner, root }: TreeName): Promise<StoredTree> {
  const recordRows = RecordRows.parse(
    await query(
      'select record_key, head, size, content, origin, origin_until from stored_records where owner = $1 and root = $2',
      [owner, root],
    ),
  );
  const nodeRows = NodeRows.parse(
    await query(
      `with recursive up (node) as (
         select head from stored_records where owner = $1 and root = $2
         union
         select n.parent from up join stored_nodes n on n.owner = $1 and n.node = up.node
       )
       select n.node, n.parent, n.part, n.refs, n.size, n.content, n.origin, n.origin_until
       from up join stored_nodes n on n.owner = $1 and n.node = up.node`,
      [owner, root],
    ),
  );
  const records = recordRows.map((row) => ({
    key: row.record_key,
    head: row.head,
    content: row.content,
    sizeBytes: row.size,
    origin: originOf(row),
    parts: partsIn(row.content),
  }));
  const digests = new Set([...nodeRows.map(({ part }) => part), ...records.flatMap(({ parts }) => parts)]);
  digests.delete('');
  const partRows: z.infer<typeof PartRows> = [];
  for (const some of slicesOf([...digests]))
    partRows.push(
      ...PartRows.parse(
        await query(
          `select digest, name, size, refs from stored_parts where owner = $1 and digest in ${placesOf(1, some.length, 1)}`,
          [owner, ...some],
        ),
      ),
    );
  return {
    owner,
    root,
    records,
    nodes: nodeRows.map((row) => {
      const [id, maker, json] = NodeContent.parse(JSON.parse(row.content));
      return { node: row.node, parent: row.parent, id, maker, json, part: row.part, origin: originOf(row) };
    }),
    parts: partRows.map(({ digest, name, size }) => ({ digest, name, sizeBytes: size })),
    removal: removalOf(records, nodeRows, partRows),
  };
}

function removalOf(
  records: readonly TreeRecord[],
  nodes: z.infer<typeof NodeRows>,
  parts: z.infer<typeof PartRows>,
): Removal {
  const byNode = new Map(nodes.map((row) => [row.node, row]));
  const byDigest = new Map(parts.map((row) => [row.digest, row]));
  const gone = { nodes: new Set<string>(), parts: new Set<string>() };
  const left = { nodes: new Map<string, number>(), parts: new Map<string, number>() };
  let bytes = records.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  /** Whether it loses its last reference. */
  const loses = (kind: 'nodes' | 'parts', name: string, refs: number): boolean => {
    const rest = (left[kind].get(name) ?? refs) - 1;
    left[kind].set(name, rest);
    if (rest > 0) return false;
    left[kind].delete(name);
    gone[kind].add(name);
    return true;
  };
  const releasePart = (digest: string) => {
    const part = byDigest.get(digest);
    if (part !== undefined && loses('parts', digest, part.refs)) bytes += part.size;
  };
  for (const { head, parts: own } of records) {
    let found = byNode.get(head);
    while (found !== undefined && loses('nodes', found.node, found.refs)) {
      bytes += found.size;
      releasePart(found.part);
      found = byNode.get(found.parent);
    }
    for (const digest of own) releasePart(digest);
  }
  return { ...gone, bytes, left };
}

/** Deletes a tree, and what only it led to. */
export async function deleteTree(queries: Queries, tree: StoredTree): Promise<void> {
  const { query } = queries;
  const { owner, root, records, removal } = tree;
  await query('delete from stored_trees where owner = $1 and root = $2', [owner, root]);
  if (records.length === 0) return;
  await query('delete from stored_records where owner = $1 and root = $2', [owner, root]);
  const tables = [
    { table: 'stored_nodes', column: 'node', gone: removal.nodes, left: removal.left.nodes },
    { table: 'stored_parts', column: 'digest', gone: removal.parts, left: removal.left.parts },
  ];
  for (const { table, column, gone, left } of tables) {
    for (const some of slicesOf([...gone]))
      await query(`delete from ${table} where owner = $1 and ${column} in ${placesOf(1, some.length, 1)}`, [
        owner,
        ...some,
      ]);
    for (const [name, refs] of left)
      await query(`update ${table} set refs = $3 where owner = $1 and ${column} = $2`, [owner, name, refs]);
  }
  await addToOwner(queries, owner, -removal.bytes, -records.length);
}
