import { JsonBytes } from '../stored/store/record-data.ts';
import { MAX_INLINE_BYTES, type NewItem, partDigest } from '../stored/store/window-nodes.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/** What is stored of a response beside its items: its large members with all that it takes to store them. */
export interface DataColumns {
  /** The small ones, as JSON. */
  readonly small: string;
  readonly large: readonly { readonly name: string; readonly bytes: Uint8Array; readonly digest: string }[];
}

/** What is stored of a response that the thread has read. */
export interface ReadResponse {
  readonly output: readonly NewItem[];
  readonly data: JsonObject;
}

export function dataColumns(owner: string, data: JsonObject): DataColumns {
  const small: { [name: string]: unknown } = {};
  const large: DataColumns['large'][number][] = [];
  for (const [name, value] of Object.entries(data)) {
    const json: string | undefined = JSON.stringify(value);
    if (json === undefined) continue;
    if (json.length <= MAX_INLINE_BYTES) small[name] = value;
    else {
      const bytes = sharedText(json);
      large.push({ name, bytes, digest: partDigest(owner, bytes) });
    }
  }
  return { small: JSON.stringify(small), large };
}

export const dataIn = ({ small, large }: DataColumns): JsonObject => ({
  ...objectOf(parseBody(small)),
  ...Object.fromEntries(
    large.map(({ name, bytes, digest }) => [name, new JsonBytes(bufferOf(bytes), digest)]),
  ),
});
