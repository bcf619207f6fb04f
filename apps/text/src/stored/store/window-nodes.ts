import { hash } from 'node:crypto';

/** An item to keep: its JSON, and the id by which a later request may name it. */
export interface NewItem {
  readonly id: string | null;
  readonly json: string;
  /** The channel that made it: what its provider sealed returns only there. */
  readonly maker?: string | null;
}

/** An item after those before it. Items that begin alike have the same nodes, and are stored once. */
export interface WindowNode {
  readonly node: string;
  /** Empty for the first one of a window. */
  readonly parent: string;
  readonly id: string;
  readonly maker: string;
  readonly json: string;
  readonly sizeBytes: number;
  /** The digest by which it lies outside of Redis; empty for what is small. */
  readonly part: string;
}

/** What is larger lies outside of Redis, in bytes. */
export const MAX_INLINE_BYTES = 8192;

const DIGEST_CHARACTERS = 32;
const digestOf = (text: string): string => hash('sha256', text, 'hex').slice(0, DIGEST_CHARACTERS);

/** The digest that identifies one of an owner's large parts. */
export const partDigest = (owner: string, json: string): string => digestOf(`${owner}\n${json}`);

interface WindowStart {
  readonly owner: string;
  /** The node that the items follow; empty for none. */
  readonly after: string;
  /** The record that the window continues, so that the same words at another time are another item; empty for none. */
  readonly previous: string;
}

/** The nodes of a window's items, in their order. */
export function windowNodes(
  { owner, after, previous }: WindowStart,
  items: readonly NewItem[],
): WindowNode[] {
  let parent = after;
  let seed = after === '' ? previous : after;
  return items.map(({ id, json, maker }) => {
    const sizeBytes = Buffer.byteLength(json);
    const part = sizeBytes > MAX_INLINE_BYTES ? partDigest(owner, json) : '';
    const node = digestOf(`${owner}\n${seed}\n${part === '' ? json : part}`);
    const made: WindowNode = { node, parent, id: id ?? '', maker: maker ?? '', json, sizeBytes, part };
    parent = node;
    seed = node;
    return made;
  });
}

/** How the ids of items begin, by their type. */
export const ID_PREFIXES: ReadonlyMap<string, string> = new Map([
  ['function_call', 'fc_'],
  ['function_call_output', 'fco_'],
  ['custom_tool_call', 'ctc_'],
  ['custom_tool_call_output', 'ctco_'],
  ['reasoning', 'rs_'],
  ['message', 'msg_'],
  ['compaction', 'cmp_'],
]);
const TYPE = /"type":"([a-z_]+)"/;
const GIVEN_ID = /^[a-z]+_([0-9a-f]{32})$/;

/** The id that an item without one is shown with. */
export const itemIdOf = (node: string, json: string): string =>
  (ID_PREFIXES.get(TYPE.exec(json)?.[1] ?? 'message') ?? 'msg_') + node;

/** The node that such an id names; empty for any other id. */
export const nodeNamedBy = (id: string): string => GIVEN_ID.exec(id)?.[1] ?? '';
