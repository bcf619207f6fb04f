import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { TextCall } from '../call/request/text-call.ts';
import type { TextRequest } from '../call/request/text-request.ts';
import type { JsonObject } from '../wire/json-object.ts';

const MEMBER = 'stream_options';
const REFUSES_IT = /stream_options|include_usage/;

/** Whether a caller of Chat Completions or Completions requests the chunk of a stream that reports usage. */
export const showsUsage = ({ streamOptions }: TextRequest): boolean => streamOptions?.include_usage === true;

/**
 * Whether the gateway requests the usage of such a stream although the caller did not. Providers report it only on request,
 * and without it the gateway can only charge an estimate.
 */
export function requestsUsage({ endpoint, request }: TextCall, { route: { quirks } }: Candidate): boolean {
  const mayRequest = endpoint.protocol === 'chat' && request.streamed && !showsUsage(request);
  return mayRequest && quirks.streamOptions && !quirks.refusedMembers.includes(MEMBER);
}

/** The `stream_options` that a channel gets instead of the caller's. */
export const usageOption = ({ streamOptions }: TextRequest): JsonObject => ({
  ...streamOptions,
  include_usage: true,
});

/** Whether an upstream refused the option. Then the request is sent again without it. */
export const refusesUsageOption = (refusal: unknown): boolean =>
  refusal instanceof GatewayError &&
  refusal.code === 'upstream_rejected' &&
  REFUSES_IT.test(`${refusal.message} ${refusal.options.relay?.body ?? ''}`);
