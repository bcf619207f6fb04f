import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import type { TextCall } from '../call/text-call.ts';
import type { TextRequest } from '../call/text-request.ts';
import type { JsonObject } from '../wire/json-object.ts';

const MEMBER = 'stream_options';
const REFUSES_IT = /stream_options|include_usage/;

/** Whether a caller of Chat Completions wants the chunk of its stream that reports usage. */
export const showsUsage = ({ streamOptions }: TextRequest): boolean => streamOptions?.include_usage === true;

interface UsageQuestion {
  /** What a channel is sent in the place of the caller's `stream_options`; null where those stay as they are. */
  streamOptions(candidate: Candidate): JsonObject | null;
  /** Whether an upstream refused the question, so that the request should be sent again without it. */
  isRefused(error: unknown): boolean;
}

/**
 * Requests the usage of a chat stream from the provider, also for a caller who did not. Providers report it only on
 * request, and without it the stream could only be charged by an estimate.
 */
export function createUsageQuestion({ endpoint, request }: TextCall): UsageQuestion {
  const mayAsk = endpoint.protocol === 'chat' && request.streamed && !showsUsage(request);
  let hasAsked = false;
  let isKnownToFail = false;
  return {
    streamOptions: ({ route: { quirks } }) => {
      hasAsked = mayAsk && !isKnownToFail && quirks.streamOptions && !quirks.refusedMembers.includes(MEMBER);
      return hasAsked ? { ...request.streamOptions, include_usage: true } : null;
    },
    isRefused: (error) => {
      if (!hasAsked || !(error instanceof GatewayError) || error.code !== 'upstream_rejected') return false;
      isKnownToFail = REFUSES_IT.test(`${error.message} ${error.options.relay?.body ?? ''}`);
      return isKnownToFail;
    },
  };
}
