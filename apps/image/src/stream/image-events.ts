import { typedData } from '@gateway/contracts/event-stream/frame-data';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { COMMENT_FRAME, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { jsonIn } from '@gateway/contracts/json/json-object';
import type { ImagesReply } from '@gateway/contracts/openai/images';
import { createEventStream, type EventMapper, PASS } from '@gateway/model-service/stream/event-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { shownError } from '@gateway/service-kit/error-response';
import { z } from 'zod';
import { plainBase64 } from '../files/base64.ts';

/** How an upstream itself reports that it broke, at the head of a frame. */
const ERROR_EVENT = /^(?:event: ?error\b|data: ?\{"error")/m;
const HEAD_LENGTH = 64;
/** One image of the largest size in base64, and its frame. */
const MAX_FRAME_BYTES = 128 * 1024 * 1024;
/** An event's own type. There is no quote within base64, so an image before it does not mislead the search. */
const TYPE = /"type"\s*:\s*"([a-z_.]+)"/;
const COMPLETED = '.completed';
/** An image, or where it is. */
const IMAGE = /"(?:b64_json|url)"\s*:\s*"[^"]/;

/**
 * A stream of images, and what it is read by.
 *
 * @param images how many were requested
 * @param onEvent gets every event's data
 */
export function imageStream(
  images: number,
  onEvent: (data: string) => void,
): {
  readonly events: ImageEvents;
  readonly stream: RelayedStream;
} {
  const events = new ImageEvents(images, onEvent);
  return { events, stream: createEventStream({ mapper: events, maxFrameBytes: MAX_FRAME_BYTES }) };
}

/**
 * Makes the events that a caller waits for out of a whole reply, for an upstream that does not stream.
 *
 * @returns each event's data with its image, and without it, as `ImageEvents.completed` has it
 */
export function eventsOfReply(
  { data, created, usage, ...members }: ImagesReply,
  kind: 'image_generation' | 'image_edit',
): { readonly data: string; readonly completed: string }[] {
  const type = `${kind}${COMPLETED}`;
  return data.map(({ b64_json, url: _, ...entry }, index) => {
    // It counts all images together, so it is in the last event.
    const reported = index === data.length - 1 && usage !== undefined ? { usage } : {};
    const event = { type, ...members, ...entry, ...(created && { created_at: created }), ...reported };
    return { data: JSON.stringify({ ...event, b64_json }), completed: JSON.stringify(event) };
  });
}

/** Reads events with images, whose bytes nobody needs beside their data. */
class ImageEvents implements EventMapper {
  readonly id = null;
  /** The events of completed images, as they came but for the image itself: JSON. */
  readonly completed: string[] = [];
  readonly #images: number;
  readonly #onEvent: (data: string) => void;
  #isMarkedEnded = false;
  failure: GatewayError | null = null;

  constructor(images: number, onEvent: (data: string) => void) {
    this.#images = images;
    this.#onEvent = onEvent;
  }

  frame(frame: Frame): typeof PASS | readonly string[] {
    const sent = typedData(frame) ?? frame.data ?? '';
    const kind = kindOf(frame.latin1, sent);
    if (sent === END_MARK || frame.data === null) {
      this.#isMarkedEnded ||= sent === END_MARK;
      return PASS;
    }
    const data = withBase64(sent);
    // Some servers say that they are done although they have made nothing.
    if (kind === 'completed' && !IMAGE.test(data)) return [];
    if (kind !== 'error') this.#onEvent(data);
    if (kind === 'completed') this.completed.push(withoutImage(data));
    if (kind === 'error') this.failure = reported(data);
    return PASS;
  }

  end(): readonly string[] | GatewayError {
    if (this.completed.length > 0 || this.failure !== null) return [];
    return broken('The upstream ended the stream before an image was complete.');
  }

  fail(error: GatewayError): readonly string[] {
    return this.failure === null ? [errorFrame(error)] : [];
  }

  get rest(): RelayedStream['rest'] {
    if (this.failure !== null) return 'read-off';
    return this.#isMarkedEnded || this.completed.length >= this.#images ? 'ending' : 'wanted';
  }

  /** After an image another one may still be due: only the upstream shows that it is the last, by closing. */
  get isWhole(): boolean {
    return this.failure !== null;
  }

  keepAlive(): string {
    return COMMENT_FRAME;
  }
}

function kindOf(frame: string, data: string): 'completed' | 'error' | 'other' {
  if (ERROR_EVENT.test(frame.slice(0, HEAD_LENGTH))) return 'error';
  const type = TYPE.exec(data)?.[1];
  if (type?.endsWith(COMPLETED)) return 'completed';
  return type === 'error' ? 'error' : 'other';
}

/** Where a data URL stands in the place of an image, or in that of its URL. */
const DATA_URLS = [
  ['"b64_json"', /"b64_json"\s*:\s*"\s*data:[^,"]*,/iy],
  ['"url"', /"url"\s*:\s*"\s*data:[^,"]*,/iy],
] as const;

/** An event's data with its image in base64, as the protocol has it. */
function withBase64(sent: string): string {
  for (const [name, pattern] of DATA_URLS) {
    const at = sent.indexOf(name);
    if (at === -1) continue;
    pattern.lastIndex = at;
    const head = pattern.exec(sent)?.[0];
    const data =
      head === undefined ? sent : `${sent.slice(0, at)}"b64_json":"${sent.slice(at + head.length)}`;
    return inPlainBase64(data, at);
  }
  return sent;
}

const BASE64 = /"b64_json"\s*:\s*"/iy;
/** The other alphabet, and escapes, such as those of line breaks. */
const NOT_PLAIN = ['-', '_', '\\'];

/** The same where the image that begins here is written otherwise. Searching for a character costs next to nothing. */
function inPlainBase64(data: string, at: number): string {
  BASE64.lastIndex = at;
  const start = at + (BASE64.exec(data)?.[0].length ?? Number.NaN);
  const end = data.indexOf('"', start);
  const isPlain = NOT_PLAIN.every((one) => !isWithin(data.indexOf(one, start), end));
  if (Number.isNaN(start) || end === -1 || isPlain) return data;
  const image = plainBase64(
    data
      .slice(start, end)
      .replace(/\\[nrt]/g, '')
      .replaceAll('\\/', '/'),
  );
  return data.slice(0, start) + image + data.slice(end);
}

const isWithin = (found: number, end: number): boolean => found !== -1 && found < end;

/** What is kept of a completed image: the members of its event. */
const withoutImage = (data: string): string =>
  data.replace(/"b64_json"\s*:\s*"[^"]*"/, () => '"b64_json":""');

const broken = (message: string, relay?: { readonly status: number; readonly body: string }): GatewayError =>
  new GatewayError('upstream_failed', { message, source: 'upstream', retry: false, ...(relay && { relay }) });

const ReportedError = z.object({ error: z.looseObject({ message: z.string(), type: z.string() }) });
const BAD_GATEWAY = 502;

/** The upstream's own words about why it broke, if it has any. */
function reported(data: string): GatewayError {
  const { error } = ReportedError.safeParse(jsonIn(data)).data ?? {};
  const relay = error && { status: BAD_GATEWAY, body: JSON.stringify({ error }) };
  return broken('The upstream reported an error in the middle of the stream.', relay);
}

/** The head of a stream of images. */
export const streamHead = ({ requestId }: { readonly requestId: string }) => ({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-request-id': requestId,
  'request-id': requestId,
});

/** The last frame of a stream that broke. */
export const errorFrame = (error: GatewayError): string =>
  namedFrame({ type: 'error', error: shownError(error) });
