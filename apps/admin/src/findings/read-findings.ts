import type { FindingKind, Thresholds } from '@gateway/contracts/findings';
import type { JobList } from '@gateway/jobs/records/job-list';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { SpoolState } from '@gateway/metering/meter/spool-state';
import type { TeamStore } from '@gateway/metering/teams/team-store';
import type { Usage } from '@gateway/records/open-records';
import type { CredentialState } from '@gateway/upstream/credentials/credential-states';
import type { AttemptSlice } from '@gateway/upstream/health/attempt-counts';
import type { ReadState } from '../configuration/configuration-state.ts';
import type { ReadConfiguration } from '../configuration/read-configuration.ts';
import type { ReadShownBalances } from '../keys/balances.ts';
import type { ChannelRests } from '../operations/channel-rests.ts';
import { type Scope, seesUsage } from '../sessions/scope.ts';
import { budgetFindings, expiringKeys } from './account-findings.ts';
import { attemptFindings } from './attempt-findings.ts';
import { channelFindings } from './channel-findings.ts';
import { type Finding, type Found, found } from './finding.ts';
import { configurationFindings, queueFindings, unpricedModels, usageFindings } from './house-findings.ts';
import { trafficFindings } from './traffic-findings.ts';
import { instantOf } from './wording.ts';

/** Where findings are looked for. */
export interface FindingSources {
  readonly now: () => number;
  readonly usage: Pick<Usage, 'sums' | 'trouble'>;
  readonly keys: Pick<KeyStore, 'listKeys'>;
  readonly teams: Pick<TeamStore, 'listTeams'>;
  readonly readBalances: ReadShownBalances;
  readonly rests: Pick<ChannelRests, 'list'>;
  readonly jobs: Pick<JobList, 'counts'>;
  readonly readConfigurationState: ReadState;
  readonly readConfiguration: ReadConfiguration;
  readonly credentialStates: () => Promise<
    (names: { channel: string; account: string }) => CredentialState | null
  >;
  /** How attempts of the last so many milliseconds ended, by ten minutes. */
  readonly attemptSlices: (lastMs: number) => Promise<readonly AttemptSlice[]>;
  /** What waits in the data folder that this process sees. */
  readonly readSpool: () => Promise<SpoolState>;
  readonly thresholds: () => Promise<Thresholds>;
  /** Rejects where Redis does not answer. */
  readonly pingRedis: () => Promise<unknown>;
  /** Called once when a source cannot be read any more, for the log. */
  readonly onUnreadable: (source: string, error: unknown) => void;
}

/** All that was found, and what could not be looked at. */
export interface Findings {
  /** The most urgent first. */
  readonly all: readonly Found[];
  /** Kinds of which it is not known whether there are any. */
  readonly unknown: ReadonlySet<FindingKind>;
}

export type ReadFindings = () => Promise<Findings>;

interface Source {
  /** What it reads, in a person's words. */
  readonly name: string;
  /** What it can find. */
  readonly kinds: readonly FindingKind[];
  /** How long its answer is good enough: thousands of budgets need not be read for every page that is open. */
  readonly rememberMs: number;
  readonly read: (sources: FindingSources) => Promise<Found[]>;
}

const SECOND_MS = 1000;

/** Everything that is looked at. A new kind of finding is a row here. */
const SOURCES: readonly Source[] = [
  { name: 'the configuration', kinds: ['configuration_invalid'], rememberMs: 0, read: configurationFindings },
  { name: 'usage that waits', kinds: ['usage_waiting', 'usage_spooled'], rememberMs: 0, read: usageFindings },
  {
    name: 'channels',
    kinds: [...(['channel_resting', 'credentials_refused', 'credentials_expiring'] as const), 'model_routes'],
    rememberMs: 0,
    read: channelFindings,
  },
  { name: 'queues', kinds: ['queue_waiting'], rememberMs: 0, read: queueFindings },
  {
    name: 'budgets',
    kinds: ['budget_near', 'budget_spent'],
    rememberMs: 10 * SECOND_MS,
    read: budgetFindings,
  },
  { name: 'attempts', kinds: ['channel_failing'], rememberMs: 10 * SECOND_MS, read: attemptFindings },
  {
    name: 'requests',
    kinds: ['model_failing', 'model_slow'],
    rememberMs: 30 * SECOND_MS,
    read: trafficFindings,
  },
  { name: 'costs', kinds: ['unpriced_model'], rememberMs: 60 * SECOND_MS, read: unpricedModels },
  { name: 'keys', kinds: ['key_expiring'], rememberMs: 60 * SECOND_MS, read: expiringKeys },
];

/** All pages that are open share a reading. */
const SHARED_MS = 2 * SECOND_MS;

/** Finds what a person should look at: the one list, for the page, the API and the alerts. */
export function createFindings(sources: FindingSources): ReadFindings {
  const { now } = sources;
  const readers = SOURCES.map((source) => ({
    ...source,
    read: remembered(() => source.read(sources), source.rememberMs, now),
  }));
  let awaySinceMs: number | null = null;
  let unreadableSince: ReadonlyMap<string, number> = new Map();

  const read = async (): Promise<Findings> => {
    const isAway = await sources.pingRedis().then(
      () => false,
      () => true,
    );
    awaySinceMs = isAway ? (awaySinceMs ?? now()) : null;
    const answers = await Promise.allSettled(readers.map((reader) => reader.read()));
    const failed = readers.flatMap((reader, at) => {
      const answer = answers[at];
      return answer?.status === 'rejected' ? [{ ...reader, reason: answer.reason }] : [];
    });
    const all = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const isExplained = isAway || sources.usage.trouble() !== null;
    const unreadable = isExplained ? [] : failed;
    for (const { name, reason } of unreadable)
      if (!unreadableSince.has(name)) sources.onUnreadable(name, reason);
    unreadableSince = new Map(unreadable.map(({ name }) => [name, unreadableSince.get(name) ?? now()]));
    for (const { name, kinds } of unreadable)
      all.push(sourceUnreadable(name, kinds, unreadableSince.get(name) ?? now()));
    if (awaySinceMs !== null) all.unshift(redisAway(awaySinceMs));
    return {
      all: all.toSorted((a, b) => Number(b.finding.isUrgent) - Number(a.finding.isUrgent)),
      unknown: new Set(failed.flatMap(({ kinds }) => kinds)),
    };
  };
  return remembered(read, SHARED_MS, now);
}

const redisAway = (sinceMs: number): Found =>
  found({
    kind: 'redis_away',
    subject: 'redis',
    sentence: 'Redis does not answer.',
    affects:
      'Requests are served as far as that is possible without limits and budgets; jobs and background responses wait. What else needs attention cannot be read.',
    advice: 'Check that Redis runs and can be reached. The gateway goes on by itself once it answers.',
    since: instantOf(sinceMs),
    isUrgent: true,
  });

const sourceUnreadable = (name: string, kinds: readonly FindingKind[], sinceMs: number): Found =>
  found({
    kind: 'source_unreadable',
    subject: name,
    sentence: `This list is incomplete: ${name} could not be read.`,
    affects: `Missing here: ${kinds.join(', ')}. Requests are not affected.`,
    advice: "Read the cause in the admin service's log.",
    since: instantOf(sinceMs),
  });

/** A failure is not remembered. */
function remembered<T>(read: () => Promise<T>, forMs: number, now: () => number): () => Promise<T> {
  let last: { readonly atMs: number; readonly answer: Promise<T> } | null = null;
  return () => {
    if (last !== null && now() - last.atMs < forMs) return last.answer;
    const mine = { atMs: now(), answer: read() };
    last = mine;
    mine.answer.catch(() => {
      if (last === mine) last = null;
    });
    return mine.answer;
  };
}

/** The findings that a person sees. */
export function seenFindings({ all }: Findings, scope: Scope): Finding[] {
  const isSeen = seesUsage(scope);
  return all
    .filter(({ whose }) => scope.kind === 'all' || (whose !== null && isSeen(whose)))
    .map(({ finding }) => finding);
}
