import type { Limits, ModelLimits } from '@gateway/contracts/identity';
import type { Dimension } from '../ledger/charge.ts';

/** A limit per minute: over all models, or over those whose name fits a pattern. */
export interface RateLimit {
  readonly name: keyof ModelLimits;
  /** In the limit's own unit; one is `unitsPerOne` of the dimension's units. */
  readonly value: number;
  readonly unitsPerOne: number;
  readonly dimension: Dimension;
  /** The pattern; null: over all models. */
  readonly model: string | null;
}

const RATES = [
  { name: 'requestsPerMinute', dimension: 'requests', unitsPerOne: 1 },
  { name: 'tokensPerMinute', dimension: 'tokens', unitsPerOne: 1 },
  { name: 'imagesPerMinute', dimension: 'images', unitsPerOne: 1 },
  { name: 'audioSecondsPerMinute', dimension: 'audioMs', unitsPerOne: 1000 },
] as const satisfies readonly Omit<RateLimit, 'value' | 'model'>[];

const rates = (limits: ModelLimits, model: string | null): RateLimit[] =>
  RATES.flatMap((rate) => {
    const value = limits[rate.name];
    return value === undefined ? [] : [{ ...rate, value, model }];
  });

/** All limits per minute of the settings, those over all models first. */
export const rateLimitsOf = (limits: Limits): readonly RateLimit[] => [
  ...rates(limits, null),
  ...Object.entries(limits.models ?? {}).flatMap(([pattern, own]) => rates(own, pattern)),
];
