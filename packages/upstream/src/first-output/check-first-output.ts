import type { IncomingHttpHeaders } from 'node:http';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { type Disguised, disguised, reportsFailure } from './reported-error.ts';

/** The beginning of a 2xx reply, before anything of it has reached the caller. */
export interface FirstOutput {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received so far. */
  readonly bytes: Buffer;
  /** Whether that is the whole body. */
  readonly ended: boolean;
}

/** A 2xx reply that is no answer and has no error either: the provider may have done the work. */
export interface Broken {
  /** What is wrong with it, for the log. */
  readonly broken: string;
}

/** `wait`: checked again when more has arrived, or when the body has ended; `wait-for-end`: only then. */
export type Verdict = 'accept' | 'wait' | 'wait-for-end' | Disguised | Broken;
export type OutputCheck = (first: FirstOutput) => Verdict;

/** The first event's data as an error, once it has arrived whole. */
const errorEvent = (stream: Buffer, ended: boolean): Verdict => {
  const reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
  const isEvent = ({ data, latin1 }: Frame) => data !== null || latin1.startsWith('event:');
  const first = reader.push(stream).find(isEvent) ?? (ended ? reader.end() : null);
  return first === null && !ended ? 'wait' : disguised(first?.data ?? '');
};

const LOOKED_AT_BYTES = 128;
const ERROR_EVENT = /^(?:\s|:[^\n]*\n)*(?:event: ?error\b|data: ?\{"(?:type": ?"error"|error": ?[{"]))/;
const ERROR_BODY = /^\s*\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")/;

/**
 * Finds the error that some providers send with a 200: an error object for a body, an error event before any other,
 * a page of HTML, or a body that is not the JSON that its type declares. Reads a few bytes only.
 */
export const checkFirstOutput: OutputCheck = ({ headers, bytes, ended }) => {
  const type = headers['content-type'] ?? '';
  const start = bytes.toString('latin1', 0, LOOKED_AT_BYTES);
  if (isEventStream(headers)) {
    return ERROR_EVENT.test(start) ? errorEvent(bytes, ended) : 'accept';
  }
  if (type.startsWith('application/json')) {
    if (ERROR_BODY.test(start)) return ended ? disguised(bytes.toString('utf8')) : 'wait';
    return /^\s*(?:[[{"]|$)/.test(start)
      ? 'accept'
      : { broken: 'the reply is not the JSON that it claims to be' };
  }
  return type.startsWith('text/html') ? { broken: 'the reply is a page of HTML' } : 'accept';
};

/** No error is larger. */
const MAX_ERROR_BYTES = 16_384;
/** Where the replies of media have what was made: it is delivered, whatever else they say. */
const MADE = ['data', 'images', 'text', 'segments'] as const;

/** The same for replies with images or a transcript: an error in a small body of JSON is one in any server's words. */
export const checkMediaReply: OutputCheck = (first) => {
  const verdict = checkFirstOutput(first);
  const isJson = first.headers['content-type']?.startsWith('application/json') ?? false;
  if (verdict !== 'accept' || !isJson || first.bytes.length > MAX_ERROR_BYTES) return verdict;
  if (!first.ended) return 'wait';
  const text = first.bytes.toString();
  const body = jsonIn(text);
  return reportsFailure(body) && !hasMedia(body) ? disguised(text) : 'accept';
};

const hasMedia = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  MADE.some((name) => {
    const made: unknown = Reflect.get(body, name);
    return Array.isArray(made) || typeof made === 'string' ? made.length > 0 : (made ?? null) !== null;
  });
