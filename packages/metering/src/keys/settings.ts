import {
  type Budget,
  BudgetPeriod,
  EndpointScope,
  KeyLimits,
  KeyPriority,
  Limits,
} from '@gateway/contracts/identity';
import { WebhookUrl } from '@gateway/contracts/webhooks';
import { DECIMAL, problem } from '@gateway/contracts/wire-types';
import { z } from 'zod';

const MAX_LABELS = 50;
const MICRO_PER_USD = 1e6;
/** A thousand million dollars in micro-dollars is a number that JavaScript and Redis' scripts hold exactly. */
const MAX_USD = 1e9;

export const name = z.string().min(1).max(200);
export const instant = z.iso.datetime({ offset: true });
export const modelPatterns = z.array(z.string().min(1).max(200)).min(1).max(200);
export const endpoints = z.array(EndpointScope).min(1);

/** The name is a part of names in Redis and of URL paths, so it has no colons and slashes. */
export const TEAM_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u;
export const TeamName = z
  .string()
  .regex(
    TEAM_NAME,
    'it must begin with a letter or a digit and have at most 100 letters, digits, spaces, dots, underscores and hyphens',
  );

const refused = (message: string) =>
  problem([], { code: 'invalid_value', openai: message, anthropic: message });

const isWholeMicroUsd = (usd: number): boolean =>
  Math.abs(usd * MICRO_PER_USD - Math.round(usd * MICRO_PER_USD)) < 1e-3;

/** What may be spent in a calendar period, in US dollars with at most six decimals. */
const BudgetSettings = z.strictObject({
  usd: z
    .number()
    .min(0, { error: DECIMAL })
    .max(MAX_USD, { error: DECIMAL })
    .superRefine((usd, context) => {
      if (!isWholeMicroUsd(usd)) context.addIssue(refused('A budget has at most six decimals.'));
    }),
  period: BudgetPeriod,
  /** Whether models without a price may be used at all; they are counted as unpriced then. Default: false. */
  allowUnpriced: z.boolean().optional(),
});
type BudgetSettings = z.infer<typeof BudgetSettings>;

const labels = z.record(z.string().min(1).max(100), z.string().max(500)).superRefine((all, context) => {
  if (Object.keys(all).length > MAX_LABELS)
    context.addIssue(refused(`There may be at most ${MAX_LABELS} labels.`));
});

/** The settings of a key. Absent `models` or `endpoints` mean all of them. Times are ISO 8601. */
export const KeySettings = z.strictObject({
  name,
  team: TeamName.optional(),
  /** The person to contact about this key. */
  owner: name.optional(),
  models: modelPatterns.optional(),
  endpoints: endpoints.optional(),
  limits: KeyLimits.optional(),
  budget: BudgetSettings.optional(),
  expiresAt: instant.optional(),
  disabled: z.boolean().optional(),
  /** Default: normal. */
  priority: KeyPriority.optional(),
  labels: labels.optional(),
  /** Where the ends of its detached jobs are reported. */
  webhookUrl: WebhookUrl.optional(),
});
export type KeySettings = z.infer<typeof KeySettings>;

/** Limits and a budget that a team's keys share, in addition to their own. */
export const TeamSettings = z.strictObject({
  name: TeamName,
  limits: Limits.optional(),
  budget: BudgetSettings.optional(),
});
export type TeamSettings = z.infer<typeof TeamSettings>;

export const toBudget = (settings: BudgetSettings | undefined): Budget | null =>
  settings === undefined
    ? null
    : {
        microUsd: Math.round(settings.usd * MICRO_PER_USD),
        period: settings.period,
        allowUnpriced: settings.allowUnpriced ?? false,
      };

export const shownBudget = ({ microUsd, period, allowUnpriced }: Budget) => ({
  usd: microUsd / MICRO_PER_USD,
  period,
  allowUnpriced,
});
