/** What a side of a request holds: JSON as bytes, or a value that is none. Null: nothing, or more than was held. */
export type ContentSide =
  | { readonly json: Uint8Array; readonly member?: string }
  | { readonly value: unknown }
  | null;

/** What it holds of memory; a value that is none of JSON is small. */
export const bytesOf = (side: ContentSide): number =>
  side !== null && 'json' in side ? side.json.byteLength : 0;

/** The value of a side; a text where it is no JSON. */
export function contentOf(side: ContentSide): unknown {
  if (side === null) return null;
  if ('value' in side) return side.value;
  const text = Buffer.from(side.json.buffer, side.json.byteOffset, side.json.byteLength).toString();
  try {
    const value: unknown = JSON.parse(text);
    const member = side.member === undefined ? undefined : memberOf(value, side.member);
    return member ?? value;
  } catch {
    return text;
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
