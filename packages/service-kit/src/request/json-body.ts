import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { nestedTooDeeply, outlineOf } from '@gateway/contracts/json/json-depth';
import { countMembers, findRepeatedMember } from '@gateway/contracts/json/repeated-member';
import { openaiPath } from '../error-response.ts';
import { discardRest } from './discard-rest.ts';
import { parseInThread } from './parse-in-thread.ts';
import { findContext } from './request-context.ts';

/** A JSON request body: its bytes, which may be passed on unchanged, and its parsed value. */
export interface JsonBody {
  readonly bytes: Buffer;
  readonly value: unknown;
}

interface JsonBounds {
  readonly maxBytes: number;
  /** The deepest nesting of arrays and objects. */
  readonly maxDepth: number;
  /** Members of objects and entries of lists together. */
  readonly maxValues?: number;
}

/**
 * Reads a whole JSON body within its bounds, by default one of few values; a large one is parsed in a thread.
 *
 * @throws {GatewayError} for another content type, an encoding, too many bytes, invalid UTF-8, no body, no JSON, JSON
 * that is nested too deeply, JSON with a repeated member
 */
export async function readJsonBody(
  request: IncomingMessage,
  { maxBytes, maxDepth, maxValues = MAX_FEW_VALUES }: JsonBounds,
): Promise<JsonBody> {
  const bytes = await readJsonBytes(request, maxBytes);
  const isLarge = bytes.length > LARGE_BODY_BYTES;
  const value = isLarge
    ? await parseInThread(request, { bytes, maxDepth, maxValues })
    : parseJson(bytes, maxDepth, undefined, maxValues);
  return { bytes, value };
}

/**
 * The same without reading it as JSON.
 *
 * @throws {GatewayError} for another content type, an encoding, too many bytes, no body
 */
export async function readJsonBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  checkContentType(request.headers['content-type']);
  refuseEncoding(request);
  const bytes = withoutMark(await readBytes(request, maxBytes));
  if (bytes.length === 0) {
    throw new GatewayError('missing_required_parameter', 'The request body is empty. Send a JSON object.');
  }
  return bytes;
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** Text without the mark of UTF-8 that some editors and programs write before it (RFC 8259 §8.1: it may be ignored). */
export const withoutMark = (text: Buffer): Buffer =>
  text[0] === BYTE_ORDER_MARK[0] && text.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? text.subarray(BYTE_ORDER_MARK.length)
    : text;

/**
 * The value of JSON text.
 *
 * @throws {GatewayError} for invalid UTF-8, no JSON, JSON that is nested too deeply, JSON with a repeated member
 */
export function parseJson(
  bytes: Buffer,
  maxDepth: number,
  outline = outlineOf(bytes, maxDepth),
  maxValues = MAX_VALUES,
): unknown {
  if (!isUtf8(bytes)) throw notJson('The body is not valid UTF-8.');
  const { isTooDeep, memberCount, valueCount } = outline;
  if (isTooDeep) throw nestedTooDeeply();
  if (valueCount > maxValues) throw tooManyValues(maxValues);
  const value = parse(bytes.toString());
  if (countMembers(value) !== memberCount) throw repeated(bytes);
  return value;
}

/**
 * How many values one body may have. Parsing and checking cost by the value, not by the byte: 32 MB of ones would hold up
 * every other request for seconds; 32 MB of texts and pictures take some 50 ms. A million tokens in thousands of items have some
 * 100,000 values.
 */
const MAX_VALUES = 250_000;

/** The same where no conversation is sent. */
const MAX_FEW_VALUES = 10_000;

const tooManyValues = (maxValues: number): GatewayError =>
  new GatewayError(
    'array_above_max_length',
    `The JSON of the request has more than the ${maxValues} values that are accepted: members of objects and entries of lists together. Send less in one request.`,
  );

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(positionOf(error));
  }
}

/** Compressed bodies are refused on every endpoint: their size cannot be bounded before they are unpacked. */
export function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw new GatewayError(
    'unsupported_content_encoding',
    `Request bodies with content-encoding '${encoding}' are not accepted. Send the body uncompressed.`,
  );
}

function checkContentType(contentType: string | undefined): void {
  if (contentType === 'application/json') return;
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && (type === 'application/json' || type.endsWith('+json'))) return;
  throw new GatewayError(
    'unsupported_content_type',
    `Unsupported content type: '${type ?? 'none'}'. This endpoint takes 'application/json'.`,
  );
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) {
    discardRest(request);
    throw tooLarge(maxBytes);
  }
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // An announced length was counted when the request was let in.
  const load = declared === 0 ? findContext(request)?.load : undefined;
  const hold = (chunk: Buffer): unknown => {
    try {
      load?.hold(chunk.length);
    } catch (error) {
      return error;
    }
  };
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      const refusal = sizeBytes > maxBytes ? tooLarge(maxBytes) : hold(chunk);
      if (refusal === undefined) return void chunks.push(chunk);
      request.removeAllListeners('data');
      discardRest(request);
      reject(refusal);
    });
    request.once('end', () =>
      resolve(sizeBytes > LARGE_BODY_BYTES ? gathered(chunks, sizeBytes) : joined(chunks)),
    );
    request.once('error', () =>
      reject(
        new GatewayError(
          'client_closed_request',
          'The connection closed before the request body was complete.',
        ),
      ),
    );
  });
}

/** What is larger is put together in several turns of the event loop, and in memory that threads can share. */
export const LARGE_BODY_BYTES = 512 * 1024;
/** Copied in one turn. */
const BYTES_PER_TURN = 4 * 1024 * 1024;

const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

async function gathered(chunks: readonly Buffer[], sizeBytes: number): Promise<Buffer> {
  const whole = Buffer.from(new SharedArrayBuffer(sizeBytes));
  let at = 0;
  let turnEnd = BYTES_PER_TURN;
  for (const chunk of chunks) {
    at += chunk.copy(whole, at);
    if (at < turnEnd) continue;
    turnEnd = at + BYTES_PER_TURN;
    await setImmediate();
  }
  return whole;
}

const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The request body is larger than the ${maxBytes} bytes that are accepted here.`,
  );

/** Finding the path costs more than parsing, and only helps the caller. */
const MAX_SEARCHED_BYTES = 1_000_000;
const MAX_PATH_LENGTH = 200;

/**
 * Parsers differ in which of the two they take (RFC 8259 §4), so a provider could get an id, or a model, that no check
 * has seen.
 */
function repeated(json: Buffer): GatewayError {
  const path = json.length <= MAX_SEARCHED_BYTES ? findRepeatedMember(json) : null;
  const name = openaiPath(path ?? []);
  const isShown = path !== null && name.length <= MAX_PATH_LENGTH;
  return new GatewayError('invalid_json', {
    message: `${isShown ? `The member '${name}'` : 'A member'} occurs more than once in its object. Send it once.`,
    ...(isShown && { path: [...path] }),
  });
}

function notJson(hint: string): GatewayError {
  return new GatewayError('invalid_json', {
    message: {
      openai: `We could not parse the JSON body of your request. ${hint} The API expects a JSON payload.`,
      anthropic: `The request body is not valid JSON: ${hint}`,
    },
  });
}

/** The parser's own message may quote the body: only what went wrong is taken from it, and where. */
function positionOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (/^Unexpected end|^Unterminated/.test(message)) return 'It ends too early.';
  const position = /at position \d+/.exec(message)?.[0];
  return position === undefined ? 'It has an unexpected character.' : `Unexpected character ${position}.`;
}
