import type { JsonObject } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import { type ItemJson, parseItem } from './item-json.ts';
import { type LargePart, largePart, MAX_INLINE_BYTES } from './window-nodes.ts';

interface SplitData {
  /** The small members, and the names of the large ones in the order of `large`. */
  readonly text: string;
  readonly large: readonly LargePart[];
}

/** Data without its large members, which are the same in every record of a conversation. */
export function splitData(owner: string, data: JsonObject): SplitData {
  const whole = JSON.stringify(data);
  if (whole.length <= MAX_INLINE_BYTES) return { text: `[${whole},[]]`, large: [] };
  const small: string[] = [];
  const names: string[] = [];
  const large: LargePart[] = [];
  for (const [name, value] of Object.entries(data)) {
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

/** The data again; `large` holds the JSON of the large members. Numbers are as they were written. */
export function joinedData(text: string, large: readonly ItemJson[]): JsonObject {
  const parsed = parseBody(text);
  const [small, names] = Array.isArray(parsed) ? parsed : [];
  if (!isJsonObject(small) || !Array.isArray(names)) throw new Error('a record without its data');
  const members = names.map((name, index) => [String(name), parseItem(large[index] ?? 'null')] as const);
  return { ...small, ...Object.fromEntries(members) };
}
