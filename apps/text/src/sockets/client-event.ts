import { GatewayError } from '@gateway/contracts/gateway-error';
import { type JsonOutline, outlineOf } from '@gateway/contracts/json/json-depth';
import { ResponseCreateEvent, ResponseSteerEvent, StreamId } from '@gateway/contracts/openai/response-events';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { parseJson, withoutMark } from '@gateway/service-kit/request/json-body';
import { validate } from '@gateway/service-kit/request/validate';
import { isLarge, MAX_VALUES_HERE } from '../large/shared-bytes.ts';
import { isObject, type JsonObject } from '../wire/json-object.ts';
import { exchangeMembers } from '../wire/replace-member.ts';

/** The lane of a response; null for the default one, whose events name none. */
export type Lane = string | null;

/** A response to be made: the body of the same request over HTTP, which would be streamed. */
export interface CreateEvent {
  readonly kind: 'create';
  readonly lane: Lane;
  readonly bytes: Buffer;
  /** Null for a large one, which is read in the thread only. */
  readonly value: JsonObject | null;
  /** False for a warm-up. */
  readonly generates: boolean;
}

export interface SteerEvent {
  readonly kind: 'steer';
  readonly previousResponseId: unknown;
  readonly input: unknown;
  readonly isValid: boolean;
}

/** A frame that is no valid event. One with a lane is answered in the lane's order. */
export interface RefusedEvent {
  readonly kind: 'refused';
  readonly lane: Lane;
  readonly error: GatewayError;
}

export type ClientEvent = CreateEvent | SteerEvent | RefusedEvent;

export interface FrameBounds {
  readonly maxBytes: number;
  /** The deepest nesting of arrays and objects. */
  readonly maxDepth: number;
}

/** Reads what a client has sent in one message; null for a large one, which is for the thread. Never throws. */
export function readSmallEvent(frame: Buffer, isBinary: boolean, bounds: FrameBounds): ClientEvent | null {
  if (isBinary || frame.length > bounds.maxBytes) return readClientEvent(frame, isBinary, bounds);
  if (isLarge(frame.length)) return null;
  const outline = outlineOf(frame, bounds.maxDepth);
  return outline.valueCount > MAX_VALUES_HERE ? null : readClientEvent(frame, isBinary, bounds, outline);
}

/** The same of any size. Never throws. */
export function readClientEvent(
  frame: Buffer,
  isBinary: boolean,
  bounds: FrameBounds,
  outline?: JsonOutline,
): ClientEvent {
  let lane: Lane = null;
  try {
    const text = withoutMark(frame);
    const value = parseFrame(text, isBinary, bounds, outline);
    const { type } = value;
    if (type === 'response.steer') return readSteer(value);
    if (type !== 'response.create') throw unknownType(type);
    lane = readLane(value.stream_id);
    return readCreate(text, value, lane);
  } catch (thrown) {
    return { kind: 'refused', lane, error: toGatewayError(thrown) };
  }
}

function parseFrame(
  frame: Buffer,
  isBinary: boolean,
  { maxBytes, maxDepth }: FrameBounds,
  outline?: JsonOutline,
): JsonObject {
  if (isBinary)
    throw new GatewayError('invalid_value', 'Binary messages are not events. Send each event as text.');
  if (frame.length > maxBytes) {
    throw new GatewayError(
      'request_too_large',
      `The event has ${frame.length} bytes; at most ${maxBytes} are accepted.`,
    );
  }
  const value = parseJson(frame, maxDepth, outline);
  if (!isObject(value)) throw new GatewayError('invalid_type', 'An event must be a JSON object.');
  return value;
}

const unknownType = (type: unknown): GatewayError =>
  type === undefined
    ? new GatewayError('missing_required_parameter', {
        path: ['type'],
        message: "Missing required parameter: 'type'.",
      })
    : new GatewayError('invalid_value', {
        path: ['type'],
        message: "Unknown type of event. Supported values are: 'response.create' and 'response.steer'.",
      });

function readLane(sent: unknown): Lane {
  if (sent === undefined || sent === null) return null;
  const lane = StreamId.safeParse(sent);
  if (lane.success) return lane.data;
  throw new GatewayError('invalid_stream_id', {
    path: ['stream_id'],
    message: "'stream_id' must be 1 to 256 letters, digits, '_', '.' or '-'.",
  });
}

/** Members of the event that the body does not have. It is always streamed, and never in the background. */
const NOT_IN_BODY = ['type', 'stream_id', 'generate', 'stream', 'background'] as const;
const STREAMED = { stream: true };

function readCreate(frame: Buffer, value: JsonObject, lane: Lane): CreateEvent {
  const { generate, background } = validate(ResponseCreateEvent, value);
  if (background === true) {
    throw new GatewayError('unsupported_value', {
      path: ['background'],
      message: "'background' is not available over a WebSocket. Send the request over HTTP.",
    });
  }
  const body: Record<string, unknown> = { ...value, ...STREAMED };
  for (const name of NOT_IN_BODY) if (name !== 'stream') delete body[name];
  return {
    kind: 'create',
    lane,
    bytes: exchangeMembers(frame, NOT_IN_BODY, STREAMED),
    value: body,
    generates: generate !== false,
  };
}

function readSteer(value: JsonObject): SteerEvent {
  const { previous_response_id: previousResponseId, input } = value;
  return {
    kind: 'steer',
    previousResponseId,
    input,
    isValid: ResponseSteerEvent.safeParse(value).success,
  };
}
