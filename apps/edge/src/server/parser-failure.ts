import { dialectOf } from '@gateway/contracts/endpoints/endpoints';
import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import { errorResponse } from '@gateway/service-kit/error-response';
import { http } from '@gateway/service-kit/node-http';

/** An error of Node's HTTP parser about bytes that are not a request. */
export interface ParserError extends Error {
  readonly code?: string;
  /** The packet that could not be parsed. */
  readonly rawPacket?: Buffer;
}

/** By the parser's codes. */
const FAILURES: Readonly<Record<string, () => GatewayError>> = {
  HPE_HEADER_OVERFLOW: () =>
    new GatewayError('headers_too_large', 'The request headers are larger than the 32 KB that are accepted.'),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new GatewayError(
      'request_timeout',
      'The request did not arrive completely within the time allowed for it.',
    ),
};

export const parserFailure = (error: ParserError): GatewayError =>
  FAILURES[error.code ?? '']?.() ?? new GatewayError('malformed_request', 'The request is not valid HTTP.');

const REQUEST_LINE = /^[A-Z]+ (\S+)/;
const MAX_READ_BYTES = 2048;

/** The dialect of the path at the packet's beginning, if there is one. */
export const dialectOfPacket = (packet: Buffer | undefined): Dialect =>
  dialectOf(REQUEST_LINE.exec(packet?.subarray(0, MAX_READ_BYTES).toString('latin1') ?? '')?.[1] ?? '/');

/** A whole HTTP response as text, for a connection that has no request to respond to. */
export function failureText(failure: GatewayError, dialect: Dialect, requestId: string): string {
  const { status, headers, body } = errorResponse(failure, dialect, requestId);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}connection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
