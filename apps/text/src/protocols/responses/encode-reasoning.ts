import type { ReasoningControl } from '../../conversation/conversation.ts';
import { encodeEffort } from '../../conversation/encoding/effort.ts';
import type { Encoder } from '../../conversation/encoding/encoder.ts';
import { pathsOf } from '../../conversation/scalar-paths.ts';

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
