import type { ServerResponse } from 'node:http';
import { openaiPath, toGatewayError } from '@gateway/service-kit/error-response';
import type { RequestContext } from '@gateway/service-kit/request/request-context';

/** `{"error":{"code","message","path"}}`: `path` names the member of the request that is wrong, or is null. */
export function writeAdminError(response: ServerResponse, thrown: unknown, context: RequestContext): void {
  const error = toGatewayError(thrown);
  context.failure = error;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { path, headers, retryAfterSeconds } = error.options;
  const body = JSON.stringify({
    error: { code: error.code, message: error.message, path: path ? openaiPath(path) : null },
  });
  response.writeHead(error.status('openai'), {
    'content-type': 'application/json',
    'x-request-id': context.requestId,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterSeconds)) }),
    ...headers,
  });
  response.end(body);
}
