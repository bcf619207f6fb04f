import { jsonIn } from '@gateway/contracts/json/json-object';
import type { EncodingFormat } from '@gateway/contracts/openai/embeddings';
import { encodedVector } from './encode-vector.ts';
import { FACES, type FaceName } from './faces.ts';
import type { Vector } from './forms/embeddings-form.ts';
import { FORMS, type FormName } from './forms/forms.ts';
import { isInOrder } from './forms/openai-form.ts';

/** A provider's reply, and what the caller wants of it. */
export interface ReplyTask {
  readonly form: FormName;
  readonly bytes: Uint8Array;
  /** How many vectors it must have, and the place of the first one among all of the request's. */
  readonly count: number;
  readonly firstIndex: number;
  readonly wanted: EncodingFormat;
  /** As whose form they are written. */
  readonly face: FaceName;
  /** It answers the whole request. */
  readonly isWhole: boolean;
}

export interface ReadReply {
  /** As the provider counted them; null where it does not say. */
  readonly tokens: number | null;
  /** The entries of the caller's list, separated by commas; `as-wanted`: the reply itself is what the caller wants; null: it is no answer. */
  readonly entries: Uint8Array | 'as-wanted' | null;
}

/** Reads a reply of any size: a large one in a thread. */
export function readReply({ form, bytes, count, firstIndex, wanted, face, isWhole }: ReplyTask): ReadReply {
  const { buffer, byteOffset, byteLength } = bytes;
  const reply = jsonIn(Buffer.from(buffer, byteOffset, byteLength).toString());
  const tokens = FORMS[form].tokensOf(reply);
  const vectors = FORMS[form].vectorsOf(reply);
  if (vectors === null || vectors.length !== count) return { tokens, entries: null };
  const canPass = isWhole && form === face && isInOrder(reply);
  if (canPass && vectors.every((vector) => formatOf(vector) === wanted))
    return { tokens, entries: 'as-wanted' };
  const entries = vectors.map((vector, at) =>
    FACES[face].entry(JSON.stringify(encodedVector(vector, wanted)), firstIndex + at),
  );
  return { tokens, entries: Buffer.from(entries.join(',')) };
}

const formatOf = (vector: Vector): EncodingFormat => (typeof vector === 'string' ? 'base64' : 'float');
