import type { Effort } from '@gateway/contracts/quirks';
import type { ReasoningControl } from '../conversation.ts';
import { pathsOf } from '../scalar-paths.ts';
import { nearestEffort } from './effort.ts';
import type { Encoder } from './encoder.ts';

/** Tokens of thought for a manual model, by effort. */
const BUDGETS: Record<Exclude<Effort, 'none'>, number> = {
  minimal: 1024,
  low: 4096,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};
const MIN_BUDGET = 1024;

export interface Thinking {
  readonly thinking?: { readonly type: string; readonly [member: string]: unknown };
  readonly effort?: string;
}

interface Circumstances {
  readonly maxTokens: number;
  /** The tool choice demands a call. */
  readonly forced: boolean;
}

const literally = ({ mode, budgetTokens, effort, summary }: ReasoningControl): Thinking => {
  const display = summary === undefined ? {} : { display: summary === 'omitted' ? 'omitted' : 'summarized' };
  const forms = {
    manual: { type: 'enabled', budget_tokens: budgetTokens, ...display },
    adaptive: { type: 'adaptive', ...display },
    off: { type: 'disabled' },
    'between-tools': { type: 'between_tools' },
  };
  return { ...(mode && { thinking: forms[mode] }), ...(effort && { effort }) };
};

/** The current tool loop began with thought that is gone: a manual model would refuse to go on. */
function loopLostItsThought({ conversation, target }: Encoder): boolean {
  const last = conversation.turns.findLast((turn) => turn.role === 'assistant');
  const closing = conversation.turns.at(-1);
  const inLoop =
    last?.parts.some((part) => part.type === 'tool-call') &&
    closing?.parts.some((part) => part.type === 'tool-result');
  if (!inLoop) return false;
  return !last?.parts.some((part) => part.type === 'reasoning' && part.payload?.vendor === target.vendor);
}

/** Why a manual model cannot think in this request; null where it can. */
function obstacle(encoder: Encoder, { maxTokens, forced }: Circumstances): string | null {
  if (forced) return 'thinking is not possible together with a forced tool call';
  if (maxTokens <= MIN_BUDGET) return 'the bound on the output leaves no tokens for thinking';
  if (loopLostItsThought(encoder)) return 'the thinking that the tool calls began with is lost';
  return null;
}

/** The caller's wish for reasoning in Claude's words: as `thinking` and `output_config.effort`. */
export function encodeThinking(encoder: Encoder, circumstances: Circumstances): Thinking {
  const { conversation, target, losses } = encoder;
  const { reasoning, source } = conversation;
  if (source === 'messages') return literally(reasoning);
  const { effort } = reasoning;
  const path = pathsOf(conversation).reasoning;
  if (effort === undefined) {
    if (reasoning.summary !== undefined)
      losses.drop(pathsOf(conversation).reasoningSummary, 'without an effort there is no thinking to show');
    return {};
  }
  const { quirks } = target;
  if (quirks.thinking === 'none') {
    if (effort !== 'none') losses.drop(path, 'this model cannot think');
    return {};
  }
  const shown = source === 'chat' || (reasoning.summary !== undefined && reasoning.summary !== 'omitted');
  const display = shown ? 'summarized' : 'omitted';
  if (quirks.thinking === 'adaptive') {
    if (effort === 'none') {
      return quirks.thinkingCanBeDisabled
        ? { thinking: { type: 'disabled' } }
        : { thinking: { type: 'adaptive', display }, effort: 'low' };
    }
    const known = quirks.efforts.filter((word) => word !== 'none' && word !== 'minimal');
    const nearest = nearestEffort(effort === 'minimal' ? 'low' : effort, known);
    return { thinking: { type: 'adaptive', display }, ...(nearest && { effort: nearest }) };
  }
  if (effort === 'none') return {};
  const reason = obstacle(encoder, circumstances);
  if (reason !== null) {
    losses.drop(path, reason);
    return {};
  }
  const budget = Math.min(BUDGETS[effort], circumstances.maxTokens - 1);
  return { thinking: { type: 'enabled', budget_tokens: Math.max(MIN_BUDGET, budget), display } };
}
