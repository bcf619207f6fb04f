import type { Account } from '@gateway/contracts/identity';
import type { JobList } from '@gateway/jobs/records/job-list';
import { accountOfKey } from '@gateway/metering/keys/key-record';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { accountOfTeam } from '@gateway/metering/teams/team-record';
import type { TeamStore } from '@gateway/metering/teams/team-store';
import type { Usage } from '@gateway/records/open-records';
import { z } from 'zod';
import { instant } from '../api/schemas/page.ts';
import type { ReadState } from '../configuration/configuration-state.ts';
import type { ReadShownBalances } from '../keys/balances.ts';
import { type Scope, seesUsage } from '../sessions/scope.ts';
import type { ChannelRests } from './channel-rests.ts';

/** Something that a person should look at. */
export const AttentionItem = z.strictObject({
  kind: z.enum([
    'channel_resting',
    'budget_near',
    'budget_spent',
    'queue_waiting',
    'configuration_invalid',
    'unpriced_model',
    'usage_waiting',
  ]),
  /** The channel's, team's, queue's or model's name, the key's id, or the file's path. */
  subject: z.string(),
  /** Without times: each reader has a zone. */
  sentence: z.string(),
  /** Null where that is not known. */
  since: instant.nullable(),
  /** When it ends by itself: a rest is over, a budget starts over. Null where that is not known. */
  until: instant.nullable(),
  /** Callers are refused, or the gateway does not do what its configuration says. */
  isUrgent: z.boolean(),
});
type Item = z.infer<typeof AttentionItem>;

interface Found {
  readonly item: Item;
  /** The key or team that it is about; null: the gateway as a whole, which concerns those who see all of it. */
  readonly whose: { readonly keyId: string; readonly team: string | null } | null;
}

interface AttentionOptions {
  readonly usage: Pick<Usage, 'sums' | 'trouble'>;
  readonly now: () => number;
  readonly keys: Pick<KeyStore, 'listKeys'>;
  readonly teams: Pick<TeamStore, 'listTeams'>;
  readonly readBalances: ReadShownBalances;
  readonly rests: Pick<ChannelRests, 'list'>;
  readonly jobs: Pick<JobList, 'counts'>;
  readonly readConfigurationState: ReadState;
}

/** What needs a person now, as far as the person sees it, the most urgent first. */
export type ReadAttention = (scope: Scope) => Promise<readonly Item[]>;

/** From this share of a budget on it is shown; from all of it on it is urgent. */
const BUDGET_NEAR = 0.8;
/** A job that waits longer is not taken by enough workers. */
const QUEUE_PATIENCE_MS = 60_000;
const DAY_MS = 86_400_000;
const AT_ONCE = 200;
/** Thousands of budgets need not be read for every page that is open. */
const REMEMBER_MS = 10_000;

const instantOf = (atMs: number): string => new Date(atMs).toISOString();
const percent = (share: number): string => `${Math.floor(share * 100)} %`;

export function createAttention(options: AttentionOptions): ReadAttention {
  let found: Promise<readonly Found[]> | null = null;
  let foundAtMs = 0;
  const read = (): Promise<readonly Found[]> => {
    if (found !== null && options.now() - foundAtMs < REMEMBER_MS) return found;
    foundAtMs = options.now();
    const finding = findAll(options);
    found = finding;
    // A failure is not remembered.
    finding.catch(() => {
      if (found === finding) found = null;
    });
    return finding;
  };
  return async (scope) => {
    const isSeen = seesUsage(scope);
    return (await read())
      .filter(({ whose }) => scope.kind === 'all' || (whose !== null && isSeen(whose)))
      .map(({ item }) => item);
  };
}

async function findAll(options: AttentionOptions): Promise<readonly Found[]> {
  const sources = [failedReload, restingChannels, waitingQueues, waitingUsage];
  const items = (await Promise.all(sources.map((source) => source(options)))).flat();
  const found = [...items.map((item) => ({ item, whose: null })), ...(await budgets(options))];
  return found.toSorted((a, b) => Number(b.item.isUrgent) - Number(a.item.isUrgent));
}

async function failedReload({ readConfigurationState }: AttentionOptions): Promise<Item[]> {
  const { path, mistakes, changedAtMs } = await readConfigurationState();
  const [first] = mistakes;
  if (first === undefined) return [];
  const where = first.line === null ? '' : ` in line ${first.line}`;
  const others = mistakes.length === 1 ? '' : ` It has ${mistakes.length} mistakes.`;
  return [
    {
      kind: 'configuration_invalid',
      subject: path,
      sentence: `The configuration file is invalid, so the services continue with the previous one: found ${first.found}${where}, expected ${first.expected}.${others}`,
      since: changedAtMs === null ? null : instantOf(changedAtMs),
      until: null,
      isUrgent: true,
    },
  ];
}

async function restingChannels({ rests }: AttentionOptions): Promise<Item[]> {
  return [...(await rests.list())].flatMap(([channel, found]) =>
    found
      .filter(({ state }) => state === 'resting')
      .map(({ scope, account, model, reason, by, since, until }) => {
        const whole = scope === 'channel';
        const part = [account && `account '${account}'`, model && `model '${model}'`]
          .filter(Boolean)
          .join(', ');
        const what = whole ? `The channel '${channel}'` : `On the channel '${channel}', ${part}`;
        const end = until === null ? ' until woken' : '';
        return {
          kind: 'channel_resting' as const,
          subject: channel,
          sentence: `${what} is resting${end}: ${reason}${by === null ? '' : ` (${by})`}.`,
          since,
          until,
          isUrgent: whole && by === null,
        };
      }),
  );
}

interface Budgeted {
  readonly kind: 'key' | 'team';
  readonly id: string;
  readonly name: string;
  readonly team: string | null;
  readonly account: Account;
}

async function budgets(options: AttentionOptions): Promise<Found[]> {
  const { readBalances } = options;
  const items: Found[] = [];
  for await (const page of budgeted(options)) {
    const balances = await readBalances(page.map(({ account }) => ({ ...account, limits: {} })));
    for (const [at, { kind, id, name, team }] of page.entries()) {
      const budget = balances[at]?.budget ?? null;
      if (budget === null || budget.usd <= 0) continue;
      const used = (budget.spentUsd + budget.reservedUsd) / budget.usd;
      if (used < BUDGET_NEAR) continue;
      const isSpent = used >= 1;
      const whose = kind === 'key' ? `the key '${name}'` : `the team '${name}'`;
      const item: Item = {
        kind: isSpent ? 'budget_spent' : 'budget_near',
        subject: id,
        sentence: isSpent
          ? `The budget of ${whose} is spent: its requests are refused.`
          : `${percent(used)} of the budget of ${whose} is spent or reserved.`,
        since: null,
        until: budget.resetsAt,
        isUrgent: isSpent,
      };
      items.push({ item, whose: { keyId: kind === 'key' ? id : '', team } });
    }
  }
  return items;
}

/** Keys and teams with a budget, page by page. */
async function* budgeted({ keys, teams, now }: AttentionOptions): AsyncGenerator<Budgeted[]> {
  for (let after: string | undefined, more = true; more; ) {
    const only = { hasBudget: true, states: { of: ['active' as const], nowMs: now() } };
    const page = await keys.listKeys({ limit: AT_ONCE, after, only });
    yield page.keys.map((key) => ({
      kind: 'key',
      id: key.id,
      name: key.name,
      team: key.team,
      account: accountOfKey(key),
    }));
    after = page.next ?? undefined;
    more = page.next !== null;
  }
  for (let after: string | undefined, more = true; more; ) {
    const page = await teams.listTeams({ limit: AT_ONCE, after, only: { hasBudget: true } });
    yield page.teams.map((team) => {
      const { name } = team;
      return { kind: 'team', id: name, name, team: name, account: accountOfTeam(team) };
    });
    after = page.next ?? undefined;
    more = page.next !== null;
  }
}

async function waitingQueues({ jobs, now }: AttentionOptions): Promise<Item[]> {
  return (await jobs.counts()).flatMap(({ queue, queued, oldestQueuedAtMs }) =>
    oldestQueuedAtMs === null || now() - oldestQueuedAtMs < QUEUE_PATIENCE_MS
      ? []
      : [
          {
            kind: 'queue_waiting' as const,
            subject: queue,
            sentence: `Jobs waiting in the queue '${queue}': ${queued}, one of them for ${Math.round((now() - oldestQueuedAtMs) / 1000)} s. Add workers to run them sooner.`,
            since: instantOf(oldestQueuedAtMs),
            until: null,
            isUrgent: false,
          },
        ],
  );
}

async function waitingUsage(options: AttentionOptions): Promise<Item[]> {
  const trouble = options.usage.trouble();
  // What the database does not answer cannot be looked at.
  if (trouble === null) return unpricedModels(options);
  const sentence =
    trouble.kind === 'other database'
      ? `${trouble.reason} Usage waits in Redis until then.`
      : `Usage waits in Redis because the database does not take it (${trouble.reason}). Nothing is lost, and no request is affected. Check the database.`;
  return [
    {
      kind: 'usage_waiting',
      subject: 'database',
      sentence,
      since: instantOf(trouble.sinceMs),
      until: null,
      isUrgent: true,
    },
  ];
}

async function unpricedModels({ usage, now }: AttentionOptions): Promise<Item[]> {
  const range = { fromMs: now() - DAY_MS, toMs: now() };
  const rows = await usage.sums({ ...range, groupBy: ['model'], only: {} });
  return rows.flatMap(({ group: { model = '' }, sums: { unpricedRequests } }) =>
    unpricedRequests === 0
      ? []
      : [
          {
            kind: 'unpriced_model' as const,
            subject: model,
            sentence: `The model '${model}' has no price, so the cost of ${unpricedRequests} requests in the last day is unknown. Set a price in the configuration.`,
            since: null,
            until: null,
            isUrgent: false,
          },
        ],
  );
}
