import { type MoveScripts, OVERHEAD_BYTES, storeNames } from '@gateway/conversations/store-scripts';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { partsIn } from './stored-tree.ts';
import {
  knownNodes,
  type NewTree,
  type RememberedOrigin,
  slicesOf,
  type TreeName,
  type TreeNode,
  type TreePart,
  type TreeRecord,
} from './tree-rows.ts';

/** What has more of them, or more bytes outside of files, stays in Redis: a script moves all at once. */
const [MAX_NODES, MAX_BYTES] = [10_000, 8_000_000];
/** How many values the scripts return for one. */
const [RECORD_VALUES, NODE_VALUES] = [4, 9];

const Record = z.object({ head: z.string(), data: z.string() });
const Part = z.object({ name: z.string(), size: z.int() });
/** Where a response was made, as the text service stores it among its small members. */
const Data = z.tuple([z.object({ 'gateway:origin': z.object({ keyId: z.string() }) })], z.unknown());
const Origin = z.object({ keyId: z.string() });

/** A tree in Redis, as it was listed. */
export interface ColdTree extends TreeName {
  readonly usedMs: number;
}

/** Reads a tree from Redis. Null: it was used meanwhile, or is too large to be moved. */
export async function exportTree(
  { scripts, database }: { readonly scripts: MoveScripts; readonly database: Pick<Database, 'read'> },
  { owner, root, usedMs }: ColdTree,
): Promise<NewTree | null> {
  const keys = storeNames(owner);
  const [used, expires = '', hasHole, recordCount, ...values] = await scripts.exportTree(
    keys,
    owner,
    root,
    MAX_NODES,
    MAX_BYTES,
  );
  if (Number(used) !== usedMs) return null;
  const recordEnd = Number(recordCount) * RECORD_VALUES;
  const makers = new Set([owner]);
  const records: TreeRecord[] = [];
  for (let at = 0; at < recordEnd; at += RECORD_VALUES) {
    const [key = '', content = '', origin = '', until = ''] = values.slice(at, at + RECORD_VALUES);
    const { head, data } = Record.parse(JSON.parse(content));
    const maker = makerIn(data);
    if (maker !== null) makers.add(maker);
    const sizeBytes = OVERHEAD_BYTES + Buffer.byteLength(data);
    const own = ownOrigin(makers, origin, until);
    records.push({ key, head, content, sizeBytes, origin: own, parts: partsIn(content) });
  }
  const nodeNames = values.slice(recordEnd);
  const known = await database.read((queries) => knownNodes(queries, owner, nodeNames));
  const parts = new Map<string, TreePart>();
  const addPart = (digest: string, text: string) => {
    const { name, size } = Part.parse(JSON.parse(text));
    parts.set(digest, { digest, name, sizeBytes: size });
  };
  const nodes: TreeNode[] = [];
  for (const some of slicesOf(nodeNames.filter((node) => !known.has(node)))) {
    const read = await scripts.exportNodes(keys, owner, ...some);
    if (read.length === 0) return null;
    for (let at = 0; at < read.length; at += NODE_VALUES) {
      const [
        node = '',
        parent = '',
        id = '',
        maker = '',
        json = '',
        origin = '',
        until = '',
        part = '',
        file,
      ] = read.slice(at, at + NODE_VALUES);
      nodes.push({ node, parent, id, maker, json, part, origin: ownOrigin(makers, origin, until) });
      if (part !== '' && file !== undefined) addPart(part, file);
    }
  }
  const missing = new Set(records.flatMap((record) => record.parts.filter((digest) => !parts.has(digest))));
  for (const some of slicesOf([...missing]))
    for (const [index, text] of (await scripts.readParts(keys, owner, ...some)).entries()) {
      if (text === '') return null;
      addPart(some[index] ?? '', text);
    }
  return {
    owner,
    root,
    usedMs,
    expiresMs: expires === '' ? null : Number(expires),
    hasHole: hasHole === '1',
    records,
    nodes,
    parts: [...parts.values()],
  };
}

/** The key that a record's response was made for; null for what is no response. */
function makerIn(data: string): string | null {
  try {
    return Data.parse(JSON.parse(data))[0]['gateway:origin'].keyId;
  } catch {
    return null;
  }
}

/** Null where there is none, or it is another key's: some servers let a caller choose the id of what it makes. */
function ownOrigin(makers: ReadonlySet<string>, text: string, until: string): RememberedOrigin | null {
  if (text === '' || !makers.has(Origin.parse(JSON.parse(text)).keyId)) return null;
  return { text, untilMs: Number(until) };
}
