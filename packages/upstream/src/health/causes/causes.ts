import type { Scope } from '../targets/target.ts';

/** How a cause puts a target to rest. */
interface CauseRule {
  /** What rests. */
  readonly scope: Scope;
  /** `at once`: the first failure suffices. `repeated`: several in a row, or a share of the requests. */
  readonly begins: 'at once' | 'repeated';
  /** The channel rests as well when a second of its models rests for such a cause. */
  readonly widens: boolean;
  /** Does not count where another request of the target was answered meanwhile: then this request was the slow one. */
  readonly excusable: boolean;
  /**
   * When it ends unless the provider set a time: after a growing time, or when the channel's address or key changes.
   */
  readonly ends: 'growing' | 'new settings';
  /** The first rest is at least this long, in milliseconds. */
  readonly minRestMs: number;
  /** For people: completes "it rests because …". */
  readonly reason: string;
}

const REPEATED = { begins: 'repeated', ends: 'growing', excusable: false, minRestMs: 0 } as const;
const AT_ONCE = { begins: 'at once', excusable: false, widens: false } as const;

/**
 * Why a channel, an account or a model rests. A failure that is not of one of these causes does not count: it shows
 * nothing about the provider, or a caller can cause it.
 */
export const CAUSES = {
  unreachable: { ...REPEATED, scope: 'channel', widens: false, reason: 'connections to it fail' },
  failing: { ...REPEATED, scope: 'model', widens: true, reason: 'it fails to answer' },
  slow: { ...REPEATED, scope: 'model', widens: true, excusable: true, reason: 'it does not answer in time' },
  overloaded: { ...REPEATED, scope: 'model', widens: false, reason: 'it is overloaded' },
  'model-missing': { ...REPEATED, scope: 'model', widens: false, reason: 'it does not have this model' },
  'rate-limited': {
    ...AT_ONCE,
    scope: 'model',
    ends: 'growing',
    minRestMs: 0,
    reason: 'its rate limit is reached',
  },
  'quota-exhausted': {
    ...AT_ONCE,
    scope: 'account',
    ends: 'growing',
    minRestMs: 60_000,
    reason: 'the account has no quota left',
  },
  credentials: {
    ...AT_ONCE,
    scope: 'account',
    ends: 'new settings',
    minRestMs: 0,
    reason: 'the provider refuses the API key',
  },
  'no-credentials': {
    ...AT_ONCE,
    scope: 'account',
    ends: 'growing',
    minRestMs: 0,
    reason: 'it has no valid credentials',
  },
} as const satisfies Record<string, CauseRule>;

export type Cause = keyof typeof CAUSES;

export const causeRule = (cause: Cause): CauseRule => CAUSES[cause];

/** The trouble of a provider that a failure shows. */
export interface Trouble {
  readonly cause: Cause;
  /** The wait that the provider requested, in milliseconds; null: none. */
  readonly waitMs: number | null;
  /** Replaces the reason of the cause. For operators, without secrets. */
  readonly reason?: string;
}
