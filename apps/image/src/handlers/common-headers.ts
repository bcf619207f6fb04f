import type { RequestContext } from '@gateway/service-kit/request/request-context';

interface Answered {
  readonly channel: string;
  readonly dropped: readonly string[];
}

/** The headers of every reply with images. */
export const commonHeaders = (
  { requestId }: Pick<RequestContext, 'requestId'>,
  { channel, dropped }: Answered,
): Record<string, string> => ({
  'cache-control': 'no-store',
  'x-request-id': requestId,
  'request-id': requestId,
  'x-gateway-channel': channel,
  ...(dropped.length > 0 && { 'x-gateway-dropped': dropped.join(', ') }),
});
