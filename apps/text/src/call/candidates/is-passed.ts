import type { Candidate } from '@gateway/upstream/candidate';
import type { TextCall } from '../request/text-call.ts';

/**
 * Whether a candidate gets the caller's own bytes: it speaks the caller's protocol, and has the form of output that is requested.
 * Else the request is translated, also to the same protocol.
 */
export const isPassed = (
  { endpoint, request }: Pick<TextCall, 'endpoint' | 'request'>,
  { protocol, route }: Candidate,
): boolean =>
  protocol === endpoint.protocol && (!request.hasOutputFormat || route.quirks.structuredOutput === 'schema');
