import { inThread } from '../../large/in-thread.ts';
import { isLarge } from '../../large/shared-bytes.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import { type ItemJson, parseItem } from './item-json.ts';
import { type LargePart, largePart, MAX_INLINE_BYTES, partOf } from './window-nodes.ts';

/** The JSON of a member that is too large for the event loop: who needs the value reads it in a thread. */
export class JsonBytes {
  readonly bytes: Buffer;
  /** Among those of the owner, where it is known. */
  readonly digest: string | undefined;

  constructor(bytes: Buffer, digest?: string) {
    this.bytes = bytes;
    this.digest = digest;
  }
}

/** Whether one of these values is such JSON. */
export const holdsBytes = (values: readonly unknown[]): boolean =>
  values.some((value) => value instanceof JsonBytes);

/** The same data with the digests of such members. */
export async function hashedData(owner: string, data: JsonObject): Promise<JsonObject> {
  const hashed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const isHashed = !(value instanceof JsonBytes) || value.digest !== undefined;
    hashed[name] = isHashed
      ? value
      : new JsonBytes(value.bytes, await inThread('digest', { owner, bytes: value.bytes }, { owner }));
  }
  return hashed;
}

interface SplitData {
  /** The small members, and the names of the large ones in the order of `large`. */
  readonly text: string;
  readonly large: readonly LargePart[];
}

/** Data without its large members, which are the same in every record of a conversation. */
export function splitData(owner: string, data: JsonObject): SplitData {
  const whole = holdsBytes(Object.values(data)) ? null : JSON.stringify(data);
  if (whole !== null && whole.length <= MAX_INLINE_BYTES) return { text: `[${whole},[]]`, large: [] };
  const small: string[] = [];
  const names: string[] = [];
  const large: LargePart[] = [];
  for (const [name, value] of Object.entries(data)) {
    if (value instanceof JsonBytes) {
      names.push(name);
      large.push(partOf(owner, value.bytes, value.digest));
      continue;
    }
    const json: string | undefined = JSON.stringify(value);
    if (json === undefined) continue;
    if (json.length <= MAX_INLINE_BYTES) small.push(`${JSON.stringify(name)}:${json}`);
    else {
      names.push(name);
      large.push(largePart(owner, json));
    }
  }
  return { text: `[{${small.join(',')}},${JSON.stringify(names)}]`, large };
}

/**
 * The data again; `large` holds the JSON of the large members, of which the largest stay as they are. Numbers are as they were
 * written.
 */
export function joinedData(text: string, large: readonly ItemJson[]): JsonObject {
  const parsed = parseBody(text);
  const [small, names] = Array.isArray(parsed) ? parsed : [];
  if (!isJsonObject(small) || !Array.isArray(names)) throw new Error('a record without its data');
  const members = names.map((name, index) => [String(name), memberOf(large[index] ?? 'null')] as const);
  return { ...small, ...Object.fromEntries(members) };
}

const memberOf = (json: ItemJson): unknown =>
  Buffer.isBuffer(json) && isLarge(json.length) ? new JsonBytes(json) : parseItem(json);
