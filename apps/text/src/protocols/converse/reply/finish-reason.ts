import type { ConverseEnding } from '@gateway/contracts/amazon/converse-wire';
import { finishMeaning } from '@gateway/contracts/finish-words';
import { type Finish, fittingReason } from '../../../neutral/reply/reply.ts';
import { objectOf, textAt } from '../../../wire/json-object.ts';
import { upstreamGaveUp } from '../../../wire/read-upstream.ts';

/** @throws {GatewayError} for a word by which the model is said to have given up */
export function decodeFinish(ending: ConverseEnding, seen: { readonly calls: boolean }): Finish {
  const word = ending.stopReason || 'end_turn';
  const meaning = finishMeaning(word);
  if (meaning === 'failed') throw upstreamGaveUp(word);
  const reason = fittingReason(meaning ?? 'stop', seen);
  if (meaning === undefined) return { reason, unknown: word };
  if (reason === 'stop-sequence') return { reason, stopSequence: stopSequenceIn(ending) };
  return reason === 'refusal' && word === GUARDRAIL ? { reason, refusalCategory: GUARDRAIL } : { reason };
}

const GUARDRAIL = 'guardrail_intervened';

/** Which one it was, where the model says so and was requested to: whole, or of a stream. */
function stopSequenceIn({ additionalModelResponseFields }: ConverseEnding): string | undefined {
  const fields = objectOf(additionalModelResponseFields);
  return textAt(fields, 'stop_sequence') ?? textAt(objectOf(fields.delta), 'stop_sequence') ?? undefined;
}
