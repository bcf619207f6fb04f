import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { isObject, jsonIn } from '@gateway/contracts/json/json-object';
import type { EventStreamCodec, MessageHeaders } from '@smithy/core/event-streams';
import type { Protocol } from '../protocol.ts';
import type { TextRepair } from '../replies/reply-body.ts';
import { BrokenEventStream, MessageSplitter } from './message-splitter.ts';
import { exceptionIn, unmodelledError, type WrittenError, writeError } from './stream-error.ts';

const TYPE = 'application/vnd.amazon.eventstream';

/** Whether a reply is a stream of AWS' binary events. */
export const isAwsEventStream = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type']?.toLowerCase().startsWith(TYPE) ?? false;

/**
 * Reads AWS' binary events as an event stream of text, so that everything after it knows one kind of stream. An event of Converse
 * becomes `{"NAME": payload}`, as AWS' clients show it; one of InvokeModel the maker's own event. An exception, a message that
 * breaks the framing and an end within a message become the protocol's error event, and nothing is read after it.
 */
export function awsEventsToText(protocol: Protocol): TextRepair {
  const splitter = new MessageSplitter();
  let isOver = false;
  const error = (written: WrittenError): string => {
    isOver = true;
    return writeError(written, protocol);
  };
  return (chunk) => {
    let frames = '';
    if (isOver) return Buffer.alloc(0);
    try {
      if (chunk === null) splitter.end();
      else
        for (const message of splitter.push(chunk)) {
          frames += read(message, error);
          if (isOver) break;
        }
    } catch (cause) {
      frames += error(brokenError(cause));
    }
    return Buffer.from(frames);
  };
}

const brokenError = (cause: unknown): WrittenError => ({
  code: '502',
  type: 'BrokenEventStream',
  message: `The event stream is broken: ${cause instanceof BrokenEventStream ? cause.message : 'a message cannot be read'}.`,
});

function read(message: Buffer, error: (written: WrittenError) => string): string {
  const { headers, body } = codec().decode(message);
  const payload = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  switch (textIn(headers, ':message-type')) {
    case 'event':
      return frameOf(textIn(headers, ':event-type'), payload);
    case 'exception':
      return error(exceptionIn(textIn(headers, ':exception-type'), payload.toString()));
    case 'error':
      return error(unmodelledError(textIn(headers, ':error-code'), textIn(headers, ':error-message')));
    default:
      return '';
  }
}

function textIn(headers: MessageHeaders, name: string): string {
  const header = headers[name];
  return header?.type === 'string' ? header.value : '';
}

/** InvokeModel's only event, which holds an event of the maker's. */
const CHUNK = 'chunk';
const NAME = /^[\w.-]+$/;

function frameOf(name: string, payload: Buffer): string {
  if (name === CHUNK) return makersFrame(payload);
  const text = payload.toString().trim();
  if (!NAME.test(name)) throw new BrokenEventStream('an event has no name');
  if (!text.startsWith('{') || !text.endsWith('}')) throw new BrokenEventStream('an event is no object');
  // Not parsed: numbers stay as they were written. A line end can only stand between the members.
  return `event: ${name}\ndata: {"${name}":${text.replaceAll(/[\r\n]+/g, ' ')}}\n\n`;
}

/** What InvokeModel adds to the last event of a stream. It is for AWS' customer, not for who called the gateway. */
const METRICS = 'amazon-bedrock-invocationMetrics';

function makersFrame(payload: Buffer): string {
  const chunk = jsonIn(payload.toString());
  const bytes = isObject(chunk) && typeof chunk.bytes === 'string' ? chunk.bytes : null;
  if (bytes === null) throw new BrokenEventStream('a chunk has no bytes');
  const text = Buffer.from(bytes, 'base64').toString();
  const event = jsonIn(text);
  if (!isObject(event)) throw new BrokenEventStream('a chunk is no object');
  const { [METRICS]: metrics, ...rest } = event;
  const data = metrics === undefined ? text.replaceAll(/[\r\n]+/g, ' ') : JSON.stringify(rest);
  const { type } = event;
  return typeof type === 'string' && NAME.test(type)
    ? `event: ${type}\ndata: ${data}\n\n`
    : `data: ${data}\n\n`;
}

let known: EventStreamCodec | null = null;

/** AWS' codec, which checks both checksums. Loaded with the first such stream of the process. */
function codec(): EventStreamCodec {
  known ??= loadCodec();
  return known;
}

function loadCodec(): EventStreamCodec {
  const load: (name: string) => typeof import('@smithy/core/event-streams') = createRequire(import.meta.url);
  const { EventStreamCodec: Codec } = load('@smithy/core/event-streams');
  return new Codec(
    (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()),
    (text) => Buffer.from(text),
  );
}
