import { parseBody } from '../../wire/raw-json.ts';

/**
 * An item's JSON: its text, or its bytes. Bytes are decoded by who needs the item itself, which for large ones is a thread.
 */
export type ItemJson = string | Buffer;

/** The item. @throws SyntaxError */
export const parseItem = (json: ItemJson): unknown => parseBody(String(json));

const TYPE = /"type":"([a-z_]+)"/;
const [TYPE_START, MAX_TYPE_BYTES] = ['"type":"', 100];

/** The first type that an item's JSON names, which is mostly its own; null where it names none. */
export function typeNamedIn(json: ItemJson): string | null {
  if (typeof json === 'string') return TYPE.exec(json)?.[1] ?? null;
  const at = json.indexOf(TYPE_START);
  return at < 0 ? null : typeNamedIn(json.toString('latin1', at, at + MAX_TYPE_BYTES));
}
