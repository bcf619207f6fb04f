import type { Effort } from '@gateway/contracts/quirks';
import type { Conversation } from '../../../neutral/conversation.ts';
import { nearestEffort, wantedEffort } from '../../../neutral/encoding/effort.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';

/** Tokens of thought for models that are steered by a budget. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
};

/** The least that a model takes which always thinks. */
const MIN_BUDGET = 128;

/** The caller's wish for reasoning: as a level, or as a budget for the models before them. Never both: that is refused. */
export function encodeThinking({ conversation, target, losses }: Encoder): object | undefined {
  const { thinking, efforts, thinkingCanBeDisabled } = target.quirks;
  const path = pathsOf(conversation).reasoning;
  const wanted = wantedEffort(conversation.reasoning);
  if (thinking === 'none') {
    if (wanted !== undefined && wanted !== 'none') losses.drop(path, 'this model cannot think');
    return undefined;
  }
  const shown = isShown(conversation) ? { includeThoughts: true } : {};
  if (thinking === 'manual') {
    const budget = conversation.reasoning.budgetTokens ?? (wanted && BUDGETS[wanted]);
    const thinkingBudget = thinkingCanBeDisabled ? budget : budget && Math.max(budget, MIN_BUDGET);
    return configOf({ ...(thinkingBudget !== undefined && { thinkingBudget }), ...shown });
  }
  if (wanted === undefined) return configOf(shown);
  // There is no level that switches thinking off.
  const levels = efforts.filter((effort) => effort !== 'none');
  const level = nearestEffort(wanted === 'none' ? 'minimal' : wanted, levels);
  if (level === null && wanted !== 'none') losses.drop(path, 'this model cannot be steered');
  return configOf({ ...(level !== null && { thinkingLevel: level.toUpperCase() }), ...shown });
}

const configOf = (config: object): object | undefined =>
  Object.keys(config).length === 0 ? undefined : config;

/** Whether the caller reads summaries of thoughts. Chat has no word for it: who sets an effort gets them. */
function isShown({ source, reasoning }: Conversation): boolean {
  const { mode, effort, summary } = reasoning;
  if (mode === 'off' || effort === 'none' || summary === 'omitted') return false;
  if (source === 'chat') return effort !== undefined;
  return source === 'messages' ? mode !== undefined : summary !== undefined;
}
