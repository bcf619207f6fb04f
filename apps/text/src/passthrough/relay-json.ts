import type { ServerResponse } from 'node:http';
import { isEventStream } from '@gateway/model-service/stream/event-stream';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { streamHead } from '../call/attempts/reply-head.ts';
import { UNKEPT_HEADER } from '../call/keeping/keep-response.ts';
import { isObject, type JsonObject, parseObject } from '../wire/json-object.ts';
import { mayLosePrecision, parseBody } from '../wire/raw-json.ts';
import { replyHeaders } from './headers.ts';
import { MIN_PARTIAL_BYTES, partsOf } from './reply-parts.ts';

/** A reply without streaming is held whole; beyond this it is the upstream's failure. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/**
 * Checks a reply that is not streamed by its whole body, so that another channel is tried where the body breaks off or is
 * no JSON object. An event stream is checked by its beginning.
 */
export const checkWholeReply: OutputCheck = (first) => {
  const verdict = checkFirstOutput(first);
  if (verdict !== 'accept' || isEventStream(first.headers)) return verdict;
  if (!first.ended) return 'wait-for-end';
  return bodyOf(first.bytes) === null ? { broken: 'the reply is no JSON object' } : 'accept';
};

/** The property of a body's bytes with what the check has parsed of them. V8 keeps the values of a `WeakMap` too long. */
const parsedBody: unique symbol = Symbol('parsed body');
declare global {
  interface Uint8Array {
    [parsedBody]?: JsonObject;
  }
}

/** A whole body, or what is read of a large one; null where it is no JSON object. */
function bodyOf(bytes: Buffer): JsonObject | null {
  const known = bytes[parsedBody];
  if (known !== undefined) return known;
  const body = partsOf(bytes) ?? parseObject(bytes.toString());
  if (body !== null) bytes[parsedBody] = body;
  return body;
}

interface RelayJsonOptions {
  readonly reply: Reply;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  /** Gets the body before the caller does, and returns the members to replace in it; null for none. */
  readonly onBody: (
    body: JsonObject,
    sizeBytes: number,
    whole: () => JsonObject,
  ) => Promise<JsonObject | null> | undefined;
  /** For a caller who wants a stream: the body as events; null where it is no finished reply. */
  readonly asStream?: (body: JsonObject) => string | null;
}

/**
 * Passes a whole JSON reply on, its bytes untouched where no member is replaced; or its events, where the caller wants a stream.
 *
 * @throws {GatewayError} where it breaks off or is no JSON object; nothing has been sent then
 */
export async function relayJson(options: RelayJsonOptions): Promise<void> {
  const { reply, response, context, onBody, asStream } = options;
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  const body = bodyOf(bytes);
  if (body === null) throw notJson();
  let whole: JsonObject | null = null;
  const readWhole = () => {
    whole ??= wholeOf(bytes, body);
    return whole;
  };
  const amended = (await onBody(body, bytes.length, readWhole)) ?? null;
  const unkept = amended?.store === false ? UNKEPT_HEADER : {};
  const frames = asStream?.({ ...exactly(bytes), ...amended }) ?? null;
  if (frames !== null) {
    if (!response.headersSent)
      response.writeHead(reply.status, { ...streamHead(replyHeaders(reply, context)), ...unkept });
    response.end(frames);
    return;
  }
  // The caller's stream was begun to keep it waiting.
  if (response.headersSent) throw notFinished();
  const written = amended === null ? bytes : Buffer.from(JSON.stringify({ ...exactly(bytes), ...amended }));
  const headers = { ...replyHeaders(reply, context), ...unkept, 'content-length': written.length };
  response.writeHead(reply.status, headers);
  response.end(written);
}

/** Every member of a body that has been read, each long number as it was written. */
const wholeOf = (bytes: Buffer, read: JsonObject): JsonObject =>
  bytes.length < MIN_PARTIAL_BYTES && !mayLosePrecision(bytes.toString('latin1')) ? read : exactly(bytes);

/** The same body with every long number as it was written: it is written again. */
function exactly(bytes: Buffer): JsonObject {
  const body = parseBody(bytes.toString());
  return isObject(body) ? body : {};
}

const notFinished = () =>
  new UnreadableReply('The upstream answered with something that is no finished reply.');

const notJson = () => new UnreadableReply('The upstream answered with something that is not JSON.');
