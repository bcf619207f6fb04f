/** What a finding can be about. The configuration's rules of alerts name them too. */
export const FINDING_KINDS = [
  'redis_away',
  'source_unreadable',
  'usage_waiting',
  'usage_spooled',
  'configuration_invalid',
  'model_failing',
  'model_slow',
  'model_routes',
  'channel_failing',
  'channel_resting',
  'credentials_refused',
  'credentials_expiring',
  'key_expiring',
  'budget_spent',
  'budget_near',
  'queue_waiting',
  'unpriced_model',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** From when on something is a finding. */
export interface Thresholds {
  /** Shares of a budget, growing: each that is reached is news. From 1 on the budget is spent. */
  readonly budgetShares: readonly number[];
  /** The share of attempts at a channel, or of requests for a model, that failed. */
  readonly failureRate: number;
  /** So many there must have been at least. */
  readonly minRequests: number;
  /** How many times its usual a model's median first output takes. */
  readonly slowdown: number;
  /** How long a job waits that has waited longest. */
  readonly queueSeconds: number;
  /** How soon a caller's key expires. */
  readonly keyExpiryDays: number;
}

export const DEFAULT_THRESHOLDS: Thresholds = {
  budgetShares: [0.8, 0.95, 1],
  failureRate: 0.2,
  minRequests: 20,
  slowdown: 2,
  queueSeconds: 60,
  keyExpiryDays: 7,
};
