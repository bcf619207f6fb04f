import type { Caller } from '@gateway/model-service/caller';
import type { EndAnswer } from '@gateway/model-service/stream/relay-stream';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { streamHead } from '../call/attempts/reply-head.ts';
import { MIN_PARTIAL_BYTES } from '../call/attempts/reply-parts.ts';
import { bodyOf } from '../call/attempts/whole-body.ts';
import { UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { isObject, type JsonObject } from '../wire/json-object.ts';
import { mayLosePrecision, parseBody } from '../wire/raw-json.ts';
import { replyHeaders } from './headers.ts';

interface RelayJsonOptions {
  readonly reply: Reply;
  readonly bytes: Buffer;
  /** It was put together of a stream. */
  readonly isCollected: boolean;
  readonly caller: Caller;
  readonly context: RequestContext;
  /** Gets the body before the caller does, and returns the members to replace in it; null for none. */
  readonly onBody: (body: JsonObject, whole: () => JsonObject) => Promise<JsonObject | null> | undefined;
  /** For a caller who wants a stream: the body as events; null where it is no finished reply. */
  readonly asStream?: (body: JsonObject) => readonly string[] | null;
}

/**
 * Passes a whole JSON reply on, its bytes untouched where no member is replaced; or its events, where the caller wants a stream.
 * Resolves to what writes it.
 *
 * @throws {GatewayError} where it is no JSON object; nothing has been sent then
 */
export async function relayJson(options: RelayJsonOptions): Promise<EndAnswer> {
  const { reply, bytes, isCollected, caller, context, onBody, asStream } = options;
  const body = bodyOf(bytes);
  if (body === null) throw notJson();
  let whole: JsonObject | null = null;
  const readWhole = () => {
    whole ??= wholeOf(bytes, body);
    return whole;
  };
  const amended = (await onBody(body, readWhole)) ?? null;
  const unstored = amended?.store === false ? UNSTORED_HEADER : {};
  const frames = asStream?.({ ...exactly(bytes), ...amended }) ?? null;
  if (frames !== null) {
    return () => {
      caller.begin(reply.status, { ...streamHead(replyHeaders(reply, context)), ...unstored });
      caller.end(frames);
    };
  }
  // The caller's stream was begun to keep it waiting.
  if (caller.hasBegun) throw notFinished();
  const written = amended === null ? bytes : Buffer.from(JSON.stringify({ ...exactly(bytes), ...amended }));
  const headers = {
    ...replyHeaders(reply, context),
    ...(isCollected && { 'content-type': 'application/json' }),
    ...unstored,
    'content-length': written.length,
  };
  return () => {
    caller.begin(reply.status, headers);
    caller.end(written);
  };
}

/** Every member of a body that has been read, each long number as it was written. */
const wholeOf = (bytes: Buffer, read: JsonObject): JsonObject =>
  bytes.length < MIN_PARTIAL_BYTES && !mayLosePrecision(bytes.toString('latin1')) ? read : exactly(bytes);

/** The same body with every long number as it was written: it is written again. */
function exactly(bytes: Buffer): JsonObject {
  const body = parseBody(bytes.toString());
  return isObject(body) ? body : {};
}

export const notFinished = () =>
  new UnreadableReply('The upstream answered with something that is not a finished reply.');

const notJson = () => new UnreadableReply('The upstream answered with something that is not JSON.');
