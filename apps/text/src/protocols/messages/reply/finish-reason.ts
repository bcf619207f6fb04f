import type { MessagesEnding } from '@gateway/contracts/anthropic/messages-wire';
import { lookUp } from '@gateway/contracts/look-up';
import { type Finish, type FinishReason, fittingReason } from '../../../conversation/reply/reply.ts';

const TO_NEUTRAL: Record<string, FinishReason> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-length',
  refusal: 'refusal',
  pause_turn: 'pause',
  compaction: 'pause',
};

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

export function decodeFinish(
  { stop_reason, stop_sequence, stop_details }: MessagesEnding,
  seen: { readonly calls: boolean },
): Finish {
  const word = stop_reason ?? 'end_turn';
  const known = lookUp(TO_NEUTRAL, word);
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
