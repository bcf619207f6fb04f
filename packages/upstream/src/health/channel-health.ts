import { randomUUID } from 'node:crypto';
import { type Cause, causeRule, type Trouble } from './causes/causes.ts';
import type { ChannelSettings } from './channel-settings.ts';
import { growingRestMs } from './cooldown.ts';
import { createProbing } from './probing.ts';
import { type Rest, type RestSharing, restField } from './rests/rest.ts';
import { covers, type HealthCandidate, keyOf, type Scope, scopeOf, targetOf } from './targets/target.ts';
import type { AttemptResult, TargetHealth } from './targets/target-health.ts';
import { TroubledTargets } from './targets/troubled-targets.ts';
import { Turns } from './turns.ts';

/**
 * Which channels, accounts and models rest, as this process knows. Only `turns.next` waits for Redis, for a
 * candidate whose rest is over: one request of all replicas probes it before others follow.
 */
export interface ChannelHealth {
  /** Whether requests should go elsewhere: it rests, or its rest is over and a probing request is on its way. O(1). */
  isResting(candidate: HealthCandidate): boolean;
  /**
   * When the last of its rests ends, by `performance.now()`: `Infinity` if only a person or new settings end it; null:
   * it does not rest.
   */
  restingUntilMs(candidate: HealthCandidate): number | null;
  /** The order in which a request tries its candidates. */
  turns<Candidate extends HealthCandidate>(candidates: readonly Candidate[]): Turns<Candidate>;
  /** Called at each attempt's first output or failure, and at the end of each reply. */
  report(candidate: HealthCandidate, result: AttemptResult): void;
  /** What rests now, for metrics. */
  resting(): readonly RestingTarget[];
}

/** A target that rests, by labels of metrics. */
export interface RestingTarget {
  readonly channel: string;
  readonly account: string | null;
  readonly scope: Scope;
  readonly cause: Cause | 'person';
}

/** What this process found out itself, for logs and metrics. */
export interface HealthEvents {
  /** A failure that counts. */
  readonly onTrouble?: (channel: string, cause: Cause) => void;
  readonly onRestBegan?: (rest: Rest) => void;
  /** `how`: a request was answered, or the channel's settings changed. */
  readonly onRestEnded?: (rest: Rest, how: 'answered' | 'new settings') => void;
}

export interface ChannelHealthOptions extends HealthEvents {
  /** Milliseconds that never go back, as `performance.now()`. */
  readonly clock: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly sharing: RestSharing | null;
  readonly settings: Pick<ChannelSettings, 'of' | 'isCurrent'>;
}

/** The methods for the owner of the configuration and for the sharing of rests. */
export interface HealthMemory extends ChannelHealth {
  /** These are all rests that the replicas share. Those that began here stay if `isPending`. */
  adopt(shared: readonly Rest[], isPending: (rest: Rest) => boolean): void;
  /** All rests, those that are over and not yet proven among them. */
  rests(): readonly Rest[];
  /** The settings of channels changed: ends the rests that they end. */
  endOutdated(): void;
}

const SEVERAL_MODELS = 'several of its models fail';

export const createChannelHealth = (options: ChannelHealthOptions): HealthMemory => {
  const { clock, random, sharing, settings, onTrouble, onRestBegan, onRestEnded } = options;
  const targets = new TroubledTargets(({ rest }) => {
    if (rest !== null) sharing?.ended(rest);
  });
  const startedAtMs = clock();
  const probing = createProbing({ clock, sharing });
  /** The rests that people began. */
  const held = new Map<string, Rest>();

  const heldRests = (candidate: HealthCandidate): Rest[] =>
    held.size === 0 ? [] : [...held.values()].filter((rest) => covers(rest, candidate));

  const begin = (
    health: TargetHealth,
    facts: Omit<Rest, 'id' | 'channel' | 'account' | 'model' | 'by'>,
  ): void => {
    const rest: Rest = { id: randomUUID(), ...health.target, by: null, ...facts };
    const wasResting = health.rest !== null;
    health.begin(rest);
    sharing?.began(rest);
    if (!wasResting) onRestBegan?.(rest);
  };

  const end = (health: TargetHealth, how: 'answered' | 'new settings'): void => {
    const { rest } = health;
    if (rest === null) return;
    health.end(clock());
    sharing?.ended(rest);
    onRestEnded?.(rest, how);
  };

  const restFor = (candidate: HealthCandidate, health: TargetHealth, trouble: Trouble): void => {
    const { cause, waitMs } = trouble;
    const cooldown = candidate.channel.cooldown;
    const rule = causeRule(cause);
    const nowMs = clock();
    const untilSettings = rule.ends === 'new settings';
    const requested = waitMs !== null;
    const level = requested || untilSettings || cooldown === null ? 0 : health.nextLevel(nowMs, cooldown);
    const growingMs =
      cooldown === null ? 0 : growingRestMs(cooldown, { level, minRestMs: rule.minRestMs, random: random() });
    const forMs = untilSettings ? Number.POSITIVE_INFINITY : (waitMs ?? growingMs);
    if (forMs <= 0) return;
    begin(health, {
      cause,
      reason: trouble.reason ?? rule.reason,
      sinceMs: nowMs,
      untilMs: nowMs + forMs,
      requested,
      level,
      failures: health.consecutive,
      settings: untilSettings ? settings.of(candidate) : null,
    });
    if (rule.widens) widen(candidate, health, { cause, waitMs });
  };

  /** The channel rests as well once two of its models do. */
  const widen = (candidate: HealthCandidate, health: TargetHealth, trouble: Trouble): void => {
    const nowMs = clock();
    const channel = targets.remember(targetOf(candidate, 'channel'));
    if (channel.rest !== null || health === channel) return;
    const other = targets
      .all()
      .some(
        ({ target, rest }) =>
          target.channel === health.target.channel &&
          target.model !== health.target.model &&
          rest?.cause != null &&
          nowMs < rest.untilMs &&
          causeRule(rest.cause).widens,
      );
    if (!other || health.rest === null) return;
    const { sinceMs, untilMs, requested, level, failures } = health.rest;
    const times = { sinceMs, untilMs, requested, level };
    begin(channel, { ...times, cause: trouble.cause, reason: SEVERAL_MODELS, failures, settings: null });
  };

  /** A failure of a request that began when the rest was over proves that it lasts, if it is a failure of its kind. */
  const provesWrong = (rest: Rest, { cause }: Trouble): boolean => {
    if (rest.cause === null || rest.cause === cause) return true;
    const repeated = [rest.cause, cause].every((one) => causeRule(one).begins === 'repeated');
    return repeated && rest.cause !== 'unreachable';
  };

  const failed = (candidate: HealthCandidate, trouble: Trouble, result: AttemptResult): void => {
    const { startedAtMs } = result;
    const { cooldown } = candidate.channel;
    onTrouble?.(candidate.channel.name, trouble.cause);
    if (cooldown === null) return;
    const nowMs = clock();
    const own = targets.remember(targetOf(candidate, causeRule(trouble.cause).scope));
    for (const health of targets.of(candidate)) {
      const { rest } = health;
      if (rest === null || !health.isUnproven(nowMs) || startedAtMs < rest.untilMs) continue;
      sharing?.endProbe(rest);
      if (provesWrong(rest, trouble)) restFor(candidate, health, trouble);
      else if (health !== own) end(health, 'answered');
    }
    const isResting = own.rest !== null && nowMs < own.rest.untilMs;
    if (isResting) {
      const until = trouble.waitMs === null ? 0 : nowMs + trouble.waitMs;
      if (until > (own.rest?.untilMs ?? 0)) restFor(candidate, own, trouble);
      return;
    }
    // A request that began before the last rest was over shows nothing new.
    if (own.rest !== null && startedAtMs < own.rest.untilMs) return;
    if (own.failed(trouble, result, nowMs, cooldown) || trouble.waitMs !== null)
      restFor(candidate, own, trouble);
  };

  const answered = (candidate: HealthCandidate, startedAtMs: number): void => {
    const { cooldown } = candidate.channel;
    const nowMs = clock();
    for (const health of targets.of(candidate)) {
      // A request that was under way when the rest began proves nothing.
      if (health.rest !== null && startedAtMs >= health.rest.sinceMs) {
        sharing?.endProbe(health.rest);
        end(health, 'answered');
      }
      if (cooldown !== null) health.answered(nowMs, cooldown);
      if (cooldown === null || health.isForgotten(nowMs, cooldown)) targets.forget(health);
    }
  };

  const restsOf = (candidate: HealthCandidate, nowMs: number): Rest[] => [
    ...heldRests(candidate).filter(({ untilMs }) => nowMs < untilMs),
    ...targets
      .of(candidate)
      .flatMap((health) => (health.rest !== null && health.isResting(nowMs) ? health.rest : [])),
  ];

  const rests = (): readonly Rest[] => [...held.values(), ...targets.all().flatMap(({ rest }) => rest ?? [])];

  const resume = (rest: Rest): void => {
    const known = targets.remember(rest);
    if (known.rest?.id !== rest.id) known.begin(rest);
  };

  /**
   * It began before this process, with settings that it no longer has. A later one is of a replica that still has them, as
   * during a rolling restart.
   */
  const isLeftOver = ({ settings: hash, sinceMs }: Rest): boolean => hash !== null && sinceMs < startedAtMs;

  const isQuiet = (): boolean => targets.size === 0 && held.size === 0;

  const health: HealthMemory = {
    isResting: (candidate) => !isQuiet() && restsOf(candidate, clock()).length > 0,
    restingUntilMs: (candidate) => {
      if (isQuiet()) return null;
      const rests = restsOf(candidate, clock());
      return rests.length === 0 ? null : Math.max(...rests.map(({ untilMs }) => untilMs));
    },
    turns: (candidates) =>
      new Turns(candidates, {
        isQuiet,
        restsOf: (candidate) => restsOf(candidate, clock()),
        admit: (candidate) => probing.admit(targets.of(candidate)),
        release: (candidate) => probing.release(targets.of(candidate)),
      }),
    report(candidate, result) {
      const { startedAtMs, stage, outcome } = result;
      if (typeof outcome === 'object') failed(candidate, outcome, result);
      else if (targets.size === 0) return;
      else if (outcome === 'neutral') probing.release(targets.of(candidate));
      else if (stage === 'first output') answered(candidate, startedAtMs);
      else for (const health of targets.of(candidate)) health.completed();
    },
    resting: () => {
      const nowMs = clock();
      return rests()
        .filter(({ untilMs }) => nowMs < untilMs)
        .map((rest) => ({
          channel: rest.channel,
          account: rest.account,
          scope: scopeOf(rest),
          cause: rest.cause ?? 'person',
        }));
    },
    adopt(shared, isPending) {
      held.clear();
      const fields = new Set(shared.map(restField));
      for (const rest of shared) {
        if (rest.by !== null) held.set(keyOf(rest), rest);
        else if (!isPending(rest)) {
          if (settings.isCurrent(rest)) resume(rest);
          else if (isLeftOver(rest)) sharing?.ended(rest);
        }
      }
      for (const known of targets.all())
        if (known.rest !== null && !fields.has(restField(known.rest)) && !isPending(known.rest))
          known.end(clock());
    },
    rests,
    endOutdated() {
      for (const known of targets.all())
        if (known.rest !== null && !settings.isCurrent(known.rest)) end(known, 'new settings');
    },
  };
  return health;
};
