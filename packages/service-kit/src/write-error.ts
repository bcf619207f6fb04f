import type { ServerResponse } from 'node:http';
import { errorResponse, toGatewayError, withoutRetry } from './error-response.ts';
import type { RequestContext } from './request/request-context.ts';

/**
 * Ends a reply with an error in the caller's dialect. After a reply has begun its connection is closed instead, so that
 * no client takes half a body for a whole one. (Event streams send their own error events.)
 */
export function writeError(
  response: ServerResponse,
  thrown: unknown,
  context: Pick<RequestContext, 'dialect' | 'requestId' | 'failure' | 'mayBePaid'>,
): void {
  const error = context.mayBePaid === true ? withoutRetry(toGatewayError(thrown)) : toGatewayError(thrown);
  context.failure = error;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, headers, body } = errorResponse(error, context.dialect, context.requestId);
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
