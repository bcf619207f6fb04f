import type { Caller } from '@gateway/model-service/caller';
import type { RequestContext } from '@gateway/service-kit/request/request-context';

/** Answers a caller with a whole body of JSON. */
export function replyJson(
  caller: Caller,
  { requestId }: Pick<RequestContext, 'requestId'>,
  body: Buffer,
): void {
  caller.begin(200, {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-request-id': requestId,
    'request-id': requestId,
  });
  caller.end(body);
}
