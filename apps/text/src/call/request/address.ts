/** What stands in the path of a request whose body does not have it. */
export interface Address {
  readonly model: string;
  readonly stream: boolean;
}

/** The model that a path names, without what Google's clients write before it; undefined for a path that names none. */
export const addressIn = (
  { model }: Readonly<Record<string, string>>,
  stream: boolean,
): Address | undefined =>
  model === undefined ? undefined : { model: model.replace(/^(?:tunedModels|models)\//, ''), stream };

const [OPENING, CLOSING, COMMA] = [0x7b, 0x7d, 0x2c];
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

const membersOf = (address: Address): Buffer =>
  Buffer.from(JSON.stringify({ model: address.model, stream: address.stream }).slice(1, -1));

/**
 * A body with the model and whether it streams as its first members, so that it is read as those of protocols that have them
 * there. Nothing else of its bytes changes. What is no object stays as it is, and is refused as such.
 */
export function withAddress(body: Buffer, address: Address): Buffer {
  const start = body.indexOf(OPENING) + 1;
  if (start === 0) return body;
  let next = start;
  while (SPACES.has(body[next])) next += 1;
  const comma = body[next] === CLOSING ? [] : [Buffer.from(',')];
  return Buffer.concat([body.subarray(0, start), membersOf(address), ...comma, body.subarray(start)]);
}

/** The bytes as they came. */
export function withoutAddress(body: Buffer, address: Address): Buffer {
  const start = body.indexOf(OPENING) + 1;
  const end = start + membersOf(address).length;
  return Buffer.concat([body.subarray(0, start), body.subarray(body[end] === COMMA ? end + 1 : end)]);
}
