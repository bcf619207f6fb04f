import { lookUp } from '@gateway/contracts/look-up';
import type { ImageRules } from './image-rules.ts';

/** Qualities of one family in the words of the other. */
const QUALITY_MEANS: Readonly<Record<string, readonly string[]>> = {
  standard: ['medium'],
  hd: ['high'],
  auto: ['standard'],
  low: ['standard'],
  medium: ['standard'],
  high: ['hd', 'standard'],
  xhigh: ['high', 'hd', 'standard'],
  max: ['high', 'hd', 'standard'],
};

export interface Adapted<Value> {
  readonly members: readonly (readonly [name: string, value: Value])[];
  /** Names of members that the other family does not have. */
  readonly dropped: readonly string[];
}

/**
 * A request's members for a model of another family than the one of the caller's name. What that family does not
 * have is left out and named; a quality is put into its words.
 */
export function adaptMembers<Value>(
  members: readonly (readonly [name: string, value: Value])[],
  requested: ImageRules,
  target: ImageRules,
  textOf: (value: Value) => string | undefined,
  fromText: (text: string) => Value,
): Adapted<Value> {
  if (requested.family === target.family) return { members, dropped: [] };
  const kept: (readonly [string, Value])[] = [];
  const dropped: string[] = [];
  for (const [name, value] of members) {
    const text = textOf(value);
    const list = lookUp(target.values, name);
    if (target.refused.includes(name)) dropped.push(name);
    else if (list === undefined || text === undefined || list.includes(text)) kept.push([name, value]);
    else {
      const means =
        name === 'quality' ? lookUp(QUALITY_MEANS, text)?.find((word) => list.includes(word)) : undefined;
      if (means === undefined) dropped.push(name);
      else kept.push([name, fromText(means)]);
    }
  }
  return { members: kept, dropped };
}
