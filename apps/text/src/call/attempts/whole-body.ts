import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { endsAnswer } from '@gateway/contracts/finish-words';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import { disguised, reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { isLarge } from '../../large/shared-bytes.ts';
import { isObject, type JsonObject, parseObject } from '../../wire/json-object.ts';
import { partsOf } from './reply-parts.ts';

/** A reply without streaming is held whole; beyond this it is the upstream's failure. */
export const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/**
 * Checks a reply that is not streamed by its whole body, so that another channel is tried where the body breaks off or is
 * no JSON object. An event stream is checked by its beginning.
 */
export const checkWholeReply: OutputCheck = (first) => {
  const verdict = checkFirstOutput(first);
  if (verdict !== 'accept' || isEventStream(first.headers)) return verdict;
  if (!first.ended) return 'wait-for-end';
  // A large one is checked in the thread, by who reads it.
  if (isLarge(first.bytes.length)) return 'accept';
  const body = bodyOf(first.bytes);
  if (body === null) return { broken: 'the reply is no JSON object' };
  if (reportsFailure(body)) return disguised(first.bytes.toString());
  return hasAnswer(body) ? 'accept' : { broken: 'the reply has no answer' };
};

/** A completion has its choices, and one of several has something; a message has a content; a reply with other members may be anything new. */
export const hasAnswer = (body: JsonObject): boolean => {
  const { choices } = body;
  if (Array.isArray(choices) && choices.length > 0) return choices.some(isAnswer);
  return choices !== null && body.content !== null && Object.keys(body).length > 0;
};

const isAnswer = (choice: unknown): boolean =>
  isObject(choice) &&
  ((choice.message ?? choice.delta ?? choice.text ?? null) !== null || endsAnswer(choice.finish_reason));

/** The property of a body's bytes with what the check has parsed of them. V8 keeps the values of a `WeakMap` too long. */
const parsedBody: unique symbol = Symbol('parsed body');
declare global {
  interface Uint8Array {
    [parsedBody]?: JsonObject;
  }
}

/** A whole body, or what is read of a large one; null where it is no JSON object. */
export function bodyOf(bytes: Buffer): JsonObject | null {
  const known = bytes[parsedBody];
  if (known !== undefined) return known;
  const body = partsOf(bytes) ?? parseObject(bytes.toString());
  if (body !== null) bytes[parsedBody] = body;
  return body;
}
