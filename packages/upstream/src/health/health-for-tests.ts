import type { Cause, Trouble } from './causes/causes.ts';
import { createChannelHealth, type HealthMemory } from './channel-health.ts';
import { DEFAULT_COOLDOWN } from './cooldown.ts';
import type { Rest, RestSharing } from './rests/rest.ts';
import type { HealthCandidate } from './targets/target.ts';
import type { AttemptResult } from './targets/target-health.ts';

/** A cooldown with round numbers. */
export const COOLDOWN = {
  ...DEFAULT_COOLDOWN,
  consecutiveFailures: 3,
  failureRate: 0.5,
  minRequests: 10,
  windowMs: 30_000,
  restMs: 10_000,
  maxRestMs: 60_000,
};

export const candidate = (channel: string, model = 'large', account = 'default'): HealthCandidate => ({
  channel: { name: channel, cooldown: COOLDOWN },
  account: { name: account },
  model,
});

export interface HealthForTests {
  readonly health: HealthMemory;
  /** By `performance.now()`; set it to let time pass. */
  nowMs: number;
  readonly began: Rest[];
  readonly ended: { readonly rest: Rest; readonly how: string }[];
  /** The key that channels have; another one ends rests for wrong credentials. */
  key: string;
  ok(of: HealthCandidate, more?: Partial<AttemptResult>): void;
  fail(of: HealthCandidate, cause?: Cause, more?: Partial<AttemptResult & Trouble>): void;
  neutral(of: HealthCandidate): void;
  failures(count: number, of: HealthCandidate, cause?: Cause): void;
  /** All that one request would try, in order, when each of them fails. */
  order(candidates: readonly HealthCandidate[]): Promise<readonly HealthCandidate[]>;
}

/** The health of channels with a stopped clock, and rests without jitter. */
export const healthForTests = (sharing: RestSharing | null = null): HealthForTests => {
  const began: Rest[] = [];
  const ended: HealthForTests['ended'] = [];
  const state = { nowMs: 1_000_000, key: 'key 1' };
  const health = createChannelHealth({
    clock: () => state.nowMs,
    random: () => 0.5,
    sharing,
    settings: {
      of: () => state.key,
      isCurrent: ({ settings }) => settings === null || settings === state.key,
    },
    onRestBegan: (rest) => began.push(rest),
    onRestEnded: (rest, how) => ended.push({ rest, how }),
  });
  const fixture: HealthForTests = {
    health,
    get nowMs() {
      return state.nowMs;
    },
    set nowMs(nowMs) {
      state.nowMs = nowMs;
    },
    get key() {
      return state.key;
    },
    set key(key) {
      state.key = key;
    },
    began,
    ended,
    ok: (of, more) =>
      fixture.health.report(of, {
        startedAtMs: fixture.nowMs,
        stage: 'first output',
        outcome: 'ok',
        ...more,
      }),
    neutral: (of) =>
      fixture.health.report(of, { startedAtMs: fixture.nowMs, stage: 'first output', outcome: 'neutral' }),
    fail: (
      of,
      cause = 'failing',
      { startedAtMs = fixture.nowMs, stage = 'first output', waitMs = null } = {},
    ) => fixture.health.report(of, { startedAtMs, stage, outcome: { cause, waitMs } }),
    failures(count, of, cause) {
      for (let index = 0; index < count; index += 1) fixture.fail(of, cause);
    },
    async order(candidates) {
      const turns = fixture.health.turns(candidates);
      const tried: HealthCandidate[] = [];
      for (;;) {
        const next = (await turns.next()) ?? turns.lastResort(tried.length > 0);
        if (next === null) return tried;
        turns.skip(next);
        tried.push(next);
      }
    },
  };
  return fixture;
};
