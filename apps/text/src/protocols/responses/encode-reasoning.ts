import type { Effort } from '@gateway/contracts/quirks';
import type { ReasoningControl } from '../conversation/conversation.ts';
import { nearestEffort } from '../conversation/effort.ts';
import { pathsOf } from '../conversation/scalar-paths.ts';
import type { Encoder } from '../encoder.ts';

/** The effort that a budget of thinking tokens amounts to: the bounds of the steps, weakest first. */
const EFFORT_OF_BUDGET: readonly (readonly [upTo: number, effort: Effort])[] = [
  [4096, 'low'],
  [16_384, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

function wantedEffort({ mode, effort, budgetTokens }: ReasoningControl): Effort | undefined {
  if (mode === 'off') return 'none';
  if (effort !== undefined) return effort;
  if (mode === 'between-tools') return 'low';
  if (mode !== 'manual' || budgetTokens === undefined) return undefined;
  return EFFORT_OF_BUDGET.find(([upTo]) => budgetTokens <= upTo)?.[1];
}

/** The caller's wish for reasoning as OpenAI's protocols say it: an effort that the model knows. */
export function encodeEffort({ conversation, target, losses }: Encoder): Effort | undefined {
  const wanted = wantedEffort(conversation.reasoning);
  if (wanted === undefined) return undefined;
  const effort = nearestEffort(wanted, target.quirks.efforts);
  if (effort !== null) return effort;
  if (wanted !== 'none') losses.drop(pathsOf(conversation).reasoning, 'this model cannot be steered');
  return undefined;
}

const thinks = ({ mode }: ReasoningControl): boolean => mode !== undefined && mode !== 'off';

/** A Messages caller who has thinking on sees its text, so a summary is asked for. */
function encodeSummary({ conversation, target, losses }: Encoder): string | undefined {
  const { reasoning, source } = conversation;
  const wanted = reasoning.summary ?? (source === 'messages' && thinks(reasoning) ? 'auto' : undefined);
  if (wanted === undefined || wanted === 'omitted') return undefined;
  if (target.quirks.reasoningSummary && target.quirks.efforts.length > 0) return wanted;
  if (reasoning.summary)
    losses.drop(pathsOf(conversation).reasoningSummary, 'this upstream gives no summaries');
  return undefined;
}

export function encodeReasoning(encoder: Encoder): object | undefined {
  const effort = encodeEffort(encoder);
  const summary = encodeSummary(encoder);
  if (effort === undefined && summary === undefined) return undefined;
  return { ...(effort && { effort }), ...(summary && { summary }) };
}
