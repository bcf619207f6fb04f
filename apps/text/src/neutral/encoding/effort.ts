import { EFFORTS, type Effort } from '@gateway/contracts/quirks';
import type { ReasoningControl } from '../conversation.ts';
import { pathsOf } from '../scalar-paths.ts';
import type { Encoder } from './encoder.ts';

const rank = (effort: Effort): number => EFFORTS.indexOf(effort);

export const readEffort = (word: string | null | undefined): Effort | undefined =>
  EFFORTS.find((effort) => effort === word);

/** A word of one server's own; `default` leaves the effort to the model, as no word does. */
export const isOwnEffort = (word: string | null | undefined): boolean =>
  Boolean(word) && word !== 'default' && readEffort(word) === undefined;

/** The wanted effort, else the next weaker one that the model takes, else its weakest. Null where it takes none. */
export function nearestEffort(wanted: Effort, known: readonly Effort[]): Effort | null {
  const ordered = known.toSorted((a, b) => rank(a) - rank(b));
  return ordered.findLast((effort) => rank(effort) <= rank(wanted)) ?? ordered[0] ?? null;
}

/** The effort that a budget of thinking tokens amounts to: the bounds of the steps, weakest first. */
const EFFORT_OF_BUDGET: readonly (readonly [upTo: number, effort: Effort])[] = [
  [4096, 'low'],
  [16_384, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

/** The effort that the caller's wish for reasoning amounts to; undefined where it has none. */
export function wantedEffort({ mode, effort, budgetTokens }: ReasoningControl): Effort | undefined {
  if (mode === 'off') return 'none';
  if (effort !== undefined) return effort;
  if (mode === 'between-tools') return 'low';
  if (mode !== 'manual' || budgetTokens === undefined) return undefined;
  return EFFORT_OF_BUDGET.find(([upTo]) => budgetTokens <= upTo)?.[1];
}

/** The caller's wish for reasoning in the terms of OpenAI's protocols: an effort that the model knows. */
export function encodeEffort({ conversation, target, losses }: Encoder): Effort | undefined {
  const wanted = wantedEffort(conversation.reasoning);
  if (wanted === undefined) return undefined;
  const effort = nearestEffort(wanted, target.quirks.efforts);
  if (effort !== null) return effort;
  if (wanted !== 'none') losses.drop(pathsOf(conversation).reasoning, 'this model cannot be steered');
  return undefined;
}
