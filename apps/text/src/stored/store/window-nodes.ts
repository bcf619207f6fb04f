import { createHash, hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { inThread } from '../../large/in-thread.ts';
import type { MaybePromise } from '../../large/maybe-promise.ts';
import { isLarge, sharedText } from '../../large/shared-bytes.ts';
import { type ItemJson, typeNamedIn } from './item-json.ts';

/** An item to keep: its JSON, and the id by which a later request may name it. */
export interface NewItem {
  readonly id: string | null;
  readonly json: ItemJson;
  /** Of bytes: their digest among those of the owner, where it is known. */
  readonly digest?: string | undefined;
  /** The channel that made it: what its provider sealed returns only there. */
  readonly maker?: string | null;
}

/** A text that is too large for Redis, such as an item or a list of tools. */
export interface LargePart {
  /** Identifies it among its owner's. */
  readonly digest: string;
  readonly bytes: Buffer;
}

/** An item after those before it. Items that begin alike have the same nodes, and are stored once. */
export interface WindowNode {
  readonly node: string;
  /** Empty for the first one of a window. */
  readonly parent: string;
  readonly id: string;
  readonly maker: string;
  /** Empty where it lies outside of Redis. */
  readonly json: ItemJson;
  readonly sizeBytes: number;
  /** What lies outside of Redis; null for what is small. */
  readonly part: LargePart | null;
}

/** What is larger lies outside of Redis, in bytes. */
export const MAX_INLINE_BYTES = 8192;

const DIGEST_CHARACTERS = 32;
const shortDigest = (digest: string): string => digest.slice(0, DIGEST_CHARACTERS);

/** The digest of a text after another. */
const digestOf = (before: string, text: ItemJson): string =>
  shortDigest(
    typeof text === 'string'
      ? hash('sha256', before + text, 'hex')
      : createHash('sha256').update(before).update(text).digest('hex'),
  );

/** One of an owner's large parts. */
export function largePart(owner: string, json: ItemJson): LargePart {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  return { digest: partDigest(owner, bytes), bytes };
}

/** What identifies a part among its owner's. */
export const partDigest = (owner: string, bytes: Buffer): string =>
  shortDigest(createHash('sha256').update(`${owner}\n`).update(bytes).digest('hex'));

interface WindowStart {
  readonly owner: string;
  /** The node that the items follow; empty for none. */
  readonly after: string;
  /** The record that the window continues, so that the same words at another time are another item; empty for none. */
  readonly previous: string;
}

/** The nodes of a window's items, in their order; a promise where there is so much of them that they are made in several turns. */
export function windowNodes(start: WindowStart, items: readonly NewItem[]): MaybePromise<WindowNode[]> {
  const window = new GrowingWindow(start);
  // Characters are not more than bytes, and cost nothing to count.
  const isMuch = isLarge(items.reduce((sum, { json }) => sum + json.length, 0));
  return isMuch ? inTurns(window, start.owner, items) : items.map((item) => window.add(item));
}

async function inTurns(
  window: GrowingWindow,
  owner: string,
  items: readonly NewItem[],
): Promise<WindowNode[]> {
  const nodes: WindowNode[] = [];
  let characters = 0;
  for (const item of items) {
    const isUnhashed = item.digest === undefined && isLarge(item.json.length);
    nodes.push(window.add(isUnhashed ? await hashed(owner, item) : item));
    characters += item.json.length;
    if (!isLarge(characters)) continue;
    characters = 0;
    await setImmediate();
  }
  return nodes;
}

/**
 * The JSON of the nodes that have no part, one after the other, as Redis gets it. Much of it is put together in several turns of
 * the event loop.
 */
export function inlineTexts(nodes: readonly WindowNode[]): MaybePromise<string | Buffer> {
  const sizeBytes = nodes.reduce((sum, node) => sum + (node.part === null ? node.sizeBytes : 0), 0);
  if (isLarge(sizeBytes)) return joinedInTurns(nodes, sizeBytes);
  return nodes.map(({ json }) => String(json)).join('');
}

async function joinedInTurns(nodes: readonly WindowNode[], sizeBytes: number): Promise<Buffer> {
  const joined = Buffer.allocUnsafe(sizeBytes);
  let end = 0;
  let turnStart = 0;
  for (const { json } of nodes) {
    end += typeof json === 'string' ? joined.write(json, end) : json.copy(joined, end);
    if (!isLarge(end - turnStart)) continue;
    turnStart = end;
    await setImmediate();
  }
  return joined;
}

/** A single item that is too large for the event loop. */
async function hashed(owner: string, item: NewItem): Promise<NewItem> {
  const json = typeof item.json === 'string' ? sharedText(item.json) : item.json;
  return { ...item, json, digest: await inThread('digest', { owner, bytes: json }, { owner }) };
}

/** Adds one item after the other. */
class GrowingWindow {
  readonly #owner: string;
  #parent: string;
  #seed: string;

  constructor({ owner, after, previous }: WindowStart) {
    this.#owner = owner;
    this.#parent = after;
    this.#seed = after === '' ? previous : after;
  }

  add({ id, json, digest, maker }: NewItem): WindowNode {
    const owner = this.#owner;
    const sizeBytes = Buffer.byteLength(json);
    const part = sizeBytes > MAX_INLINE_BYTES ? partOf(owner, json, digest) : null;
    const inline = part === null ? json : '';
    const node = digestOf(`${owner}\n${this.#seed}\n`, part?.digest ?? inline);
    const parent = this.#parent;
    this.#parent = node;
    this.#seed = node;
    return { node, parent, id: id ?? '', maker: maker ?? '', json: inline, sizeBytes, part };
  }
}

/** The same of JSON whose digest may be known. */
export const partOf = (owner: string, json: ItemJson, digest: string | undefined): LargePart =>
  digest !== undefined && Buffer.isBuffer(json) ? { digest, bytes: json } : largePart(owner, json);

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
const GIVEN_ID = /^[a-z]+_([0-9a-f]{32})$/;

/** The id that an item without one is shown with. */
export const itemIdOf = (node: string, json: ItemJson): string =>
  (ID_PREFIXES.get(typeNamedIn(json) ?? 'message') ?? 'msg_') + node;

/** The node that such an id names; empty for any other id. */
export const nodeNamedBy = (id: string): string => GIVEN_ID.exec(id)?.[1] ?? '';
