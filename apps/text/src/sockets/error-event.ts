import type { GatewayError } from '@gateway/contracts/gateway-error';
import { objectAt, objectOf, parseObject, textAt } from '../wire/json-object.ts';
import type { Lane, SteerEvent } from './client-event.ts';

/** An answer over HTTP that is no stream. */
interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** These describe the body. */
const NOT_SHOWN = new Set(['content-type', 'content-length']);

export const laneMember = (lane: Lane): { readonly stream_id?: string } =>
  lane === null ? {} : { stream_id: lane };

/**
 * The event for an error that HTTP would have answered with. Its members are at both levels, because clients differ in
 * where they look, and it always has a code, because some need one.
 */
export function errorEvent({ status, headers, body }: ErrorReply, lane: Lane): string {
  const sent = objectOf(objectAt(objectOf(parseObject(body)), 'error'));
  const type = textAt(sent, 'type') ?? 'server_error';
  const code = textAt(sent, 'code') ?? type;
  const message = textAt(sent, 'message') ?? 'The upstream failed to answer this request.';
  const param = textAt(sent, 'param');
  const shown = Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || NOT_SHOWN.has(name) ? [] : [[name, String(value)]],
    ),
  );
  const error = { type, code, message, param, headers: shown };
  return JSON.stringify({
    type: 'error',
    sequence_number: 0,
    status,
    code,
    message,
    param,
    error,
    ...laneMember(lane),
  });
}

/** Why a steer is refused: no response can be steered here. */
export function steerFailedEvent({ isValid, input, previousResponseId }: SteerEvent): string {
  const error = isValid
    ? {
        code: 'steering_not_supported',
        message:
          'Responses cannot be steered here. Send the input in a response.create after this one has ended.',
      }
    : {
        code: 'invalid_input',
        message:
          "A response.steer has 'previous_response_id' and 'input': a text, or messages of the user's, and nothing else.",
      };
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    error: { type: 'invalid_request_error', ...error },
    steer: { previous_response_id: previousResponseId ?? null, input: input ?? null },
  });
}

const ERROR_TYPE = /"type"\s*:\s*"error"/;

/** Whether a frame may report an error; what looks like one may be a text in another event. */
export const mayBeError = (frame: string): boolean => ERROR_TYPE.test(frame);

const UPSTREAM_FAILED = 502;

/** An event that reports an error, with the status that HTTP would have had, and a code where it has none; any other event as it is. */
export function errorWithStatus(event: Buffer, failure: () => GatewayError | undefined): Buffer {
  const sent = parseObject(event.toString());
  if (sent === null || sent.type !== 'error') return event;
  const error = objectOf(sent.error);
  const type = textAt(error, 'type') ?? 'server_error';
  const code = textAt(error, 'code') ?? textAt(sent, 'code') ?? type;
  const status = failure()?.status('openai') ?? UPSTREAM_FAILED;
  return Buffer.from(JSON.stringify({ status, ...sent, error: { ...error, type, code } }));
}
