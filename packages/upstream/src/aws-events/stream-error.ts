import { eventFrame } from '@gateway/contracts/event-stream/sse-frames';
import { isObject, jsonIn } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import { dialectOfProtocol, type Protocol } from '../protocol.ts';

/** An error in the middle of a stream, in the members of OpenAI's error object. */
export interface WrittenError {
  /** The status that it stands for, or AWS' name of it, which stands for one. */
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

/** An exception that the service describes, by the name that it has in the stream. */
export function exceptionIn(exceptionType: string, payload: string): WrittenError {
  const type = `${exceptionType.slice(0, 1).toUpperCase()}${exceptionType.slice(1)}`;
  const body = jsonIn(payload);
  const { message, originalMessage, originalStatusCode } = isObject(body) ? body : {};
  const words = typeof originalMessage === 'string' && originalMessage !== '' ? originalMessage : message;
  return {
    // What the model's own server answered says more than that its stream broke.
    code: typeof originalStatusCode === 'number' ? String(originalStatusCode) : type,
    type,
    message: typeof words === 'string' ? words : '',
  };
}

/** An error that no service describes. */
export const unmodelledError = (code: string, message: string): WrittenError => ({
  code,
  type: code,
  message,
});

/** The words of Anthropic's clients for what they have no exception of AWS for. */
const ANTHROPIC_TYPES: Readonly<Record<string, string>> = {
  ThrottlingException: 'rate_limit_error',
  '429': 'rate_limit_error',
  ServiceUnavailableException: 'overloaded_error',
  ModelNotReadyException: 'overloaded_error',
  '503': 'overloaded_error',
  ModelTimeoutException: 'timeout_error',
  ValidationException: 'invalid_request_error',
  AccessDeniedException: 'permission_error',
};

/** The error event of the protocol in which the stream is read. */
export function writeError({ code, type, message }: WrittenError, protocol: Protocol): string {
  const error =
    dialectOfProtocol(protocol) === 'anthropic'
      ? { type: lookUp(ANTHROPIC_TYPES, code) ?? 'api_error', message }
      : { code, type, message };
  return eventFrame('error', { type: 'error', error });
}
