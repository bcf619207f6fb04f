import type { MessagesEnding } from '@gateway/contracts/anthropic/messages-wire';
import type { FinishReason } from '@gateway/contracts/finish-words';
import { finishMeaning } from '@gateway/contracts/finish-words';
import { type Finish, fittingReason } from '../../../neutral/reply/reply.ts';
import { upstreamGaveUp } from '../../../wire/read-upstream.ts';

const FROM_NEUTRAL: Record<FinishReason, string> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  refusal: 'refusal',
  pause: 'pause_turn',
  compaction: 'compaction',
};

/** @throws {GatewayError} for a word by which the server says that it gave up */
export function decodeFinish(
  { stop_reason, stop_sequence, stop_details }: MessagesEnding,
  seen: { readonly calls: boolean },
): Finish {
  const word = stop_reason || 'end_turn';
  const meaning = finishMeaning(word);
  if (meaning === 'failed') throw upstreamGaveUp(word);
  // The gateway continues a turn that its provider has compacted as one that it has paused.
  const known = meaning === 'compaction' ? 'pause' : meaning;
  const reason = fittingReason(known ?? 'stop', seen);
  if (known === undefined) return { reason, unknown: word };
  if (reason === 'stop-sequence') return { reason, stopSequence: stop_sequence ?? undefined };
  if (reason !== 'refusal') return { reason };
  return {
    reason,
    ...(stop_details?.category && { refusalCategory: stop_details.category }),
    ...(stop_details?.explanation && { explanation: stop_details.explanation }),
  };
}

/** A stop sequence is only claimed where it is known which one. */
export function encodeFinish(finish: Finish) {
  const claimsUnknownStop = finish.reason === 'stop-sequence' && finish.stopSequence === undefined;
  return {
    stop_reason: claimsUnknownStop ? 'end_turn' : FROM_NEUTRAL[finish.reason],
    stop_sequence: finish.stopSequence ?? null,
    stop_details:
      finish.reason === 'refusal'
        ? {
            type: 'refusal',
            category: finish.refusalCategory ?? null,
            explanation: finish.explanation ?? null,
          }
        : null,
    container: null,
  };
}
