import { finishMeaning } from '@gateway/contracts/finish-words';
import type { ResponsesReply } from '@gateway/contracts/openai/responses-wire';
import type { Finish } from '../../../neutral/reply/reply.ts';
import { upstreamGaveUp } from '../../../wire/read-upstream.ts';

interface Seen {
  readonly calls: boolean;
  readonly refusal: boolean;
}

/**
 * Responses has no single word for how an answer ended: it takes status, reason and content together.
 *
 * @throws {GatewayError} for a reason by which the server says that it gave up
 */
export function decodeFinish(
  { status, incomplete_details }: Pick<ResponsesReply, 'status' | 'incomplete_details'>,
  seen: Seen,
): Finish {
  if (status === 'incomplete') {
    const word = incomplete_details?.reason || 'length';
    const meaning = finishMeaning(word);
    if (meaning === 'failed') throw upstreamGaveUp(word);
    return { reason: meaning === 'refusal' || meaning === 'context-length' ? meaning : 'length' };
  }
  if (seen.calls) return { reason: 'tool-calls' };
  if (seen.refusal) return { reason: 'refusal' };
  return { reason: 'stop' };
}

/** A refusal after something was shown is incomplete; as the whole answer it is a completed one with a refusal part. */
export function encodeFinish({ reason }: Finish, refusalIsShown: boolean) {
  switch (reason) {
    case 'length':
    case 'context-length':
    case 'pause':
      return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } as const;
    case 'refusal':
      return refusalIsShown
        ? ({ status: 'completed', incomplete_details: null } as const)
        : ({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } } as const);
    default:
      return { status: 'completed', incomplete_details: null } as const;
  }
}
