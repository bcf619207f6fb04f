import type { Group } from '@gateway/metering/usage/sums';
import type { GroupBy, UsageRow } from '@gateway/metering/usage/usage-rows';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { FAILURES, NOT_OF_PROVIDER } from '@gateway/upstream/failures/failure-rules';
import { type Found, found } from './finding.ts';
import type { FindingSources } from './read-findings.ts';
import { entryOf, otherChannels } from './routes.ts';
import { counted, instantOf, listed, milliseconds, named, percent, sentence } from './wording.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** What counts as now. */
const NOW_MS = 15 * MINUTE_MS;
/** How far back the beginning of something is looked for. */
const BACK_MS = 6 * HOUR_MS;
/** What is usual is what these days had, but for the last hours. */
const USUAL_MS = 7 * 24 * HOUR_MS;
const NOT_USUAL_MS = 2 * HOUR_MS;
/** A difference that people do not notice is none. */
const MIN_SLOWER_MS = 300;
/** So many are looked into; where more are slow or fail, they have one cause. */
const MAX_LOOKED_INTO = 20;

/** The errors of requests that a provider is the cause of; a record without one does not say. */
const PROVIDER_ERRORS: ReadonlySet<string> = new Set([
  '',
  ...Object.entries(FAILURES)
    .filter(([kind]) => !NOT_OF_PROVIDER.some((one) => one === kind))
    .map(([, { code }]) => code),
]);

/** Whether requests of this group failed for what the provider did. */
const isFailed = ({ group: { outcome, errorCode = '' } }: UsageRow): boolean =>
  outcome === 'cut' || outcome === 'abandoned' || (outcome === 'failed' && PROVIDER_ERRORS.has(errorCode));

const BY: readonly GroupBy[] = ['model', 'channel', 'outcome', 'errorCode'];

interface Asked {
  readonly model: string;
  readonly channel?: string;
}

/** Models that fail or are slow, compared with their own last days. */
export async function trafficFindings(sources: FindingSources): Promise<Found[]> {
  const { usage, now, readConfiguration } = sources;
  const nowMs = now();
  const [recent, configuration] = await Promise.all([
    usage.sums({ fromMs: nowMs - NOW_MS, toMs: nowMs, isExact: true, groupBy: BY, only: {} }),
    readConfiguration(),
  ]);
  const { minRequests } = await sources.thresholds();
  const models = [...Map.groupBy(recent, ({ group: { model = '' } }) => model)].filter(
    ([, rows]) => sum(rows, requestsOf) >= minRequests,
  );
  if (models.length === 0) return [];
  const usual = await usage.sums({
    ...{ fromMs: nowMs - USUAL_MS, toMs: nowMs - NOT_USUAL_MS, groupBy: BY, only: {} },
  });
  const context = { sources, configuration, usual, nowMs };
  const all = await Promise.all(
    models.slice(0, 1000).map(([model, rows]) => failing({ model }, rows, context)),
  );
  const slow = await slowModels(models, context);
  return [...all.flat(), ...slow];
}

interface Context {
  readonly sources: FindingSources;
  readonly configuration: Configuration | undefined;
  readonly usual: readonly UsageRow[];
  readonly nowMs: number;
}

const requestsOf = ({ sums }: UsageRow): number => sums.requests;
const sum = (rows: readonly UsageRow[], of: (row: UsageRow) => number): number =>
  rows.reduce((total, row) => total + of(row), 0);

async function failing(
  { model }: Asked,
  rows: readonly UsageRow[],
  { sources, usual, nowMs }: Context,
): Promise<Found[]> {
  const { failureRate, minRequests } = await sources.thresholds();
  const failed = rows.filter(isFailed);
  const [bad, all] = [sum(failed, requestsOf), sum(rows, requestsOf)];
  if (all < minRequests || bad / all < failureRate) return [];
  const before = usual.filter(({ group }) => group.model === model);
  const [badBefore, allBefore] = [sum(before.filter(isFailed), requestsOf), sum(before, requestsOf)];
  const channels = byCount(failed, 'channel').filter((name) => name !== '');
  const [cause] = byCount(failed, 'errorCode');
  const [since, affected] = await Promise.all([
    sinceOf(sources, { model }, nowMs, (slot) => share(slot) >= failureRate),
    affectedBy(sources, { model }, nowMs),
  ]);
  const at = channels.length === 0 ? '' : `, all of them at ${listed(channels)}`;
  return [
    found({
      kind: 'model_failing',
      subject: model,
      sentence: `${percent(bad / all)} of the requests for the model '${model}' failed${at}.`,
      comparison: `${counted(bad, 'request')} of ${all.toLocaleString('en')} in the last 15 minutes${cause ? `, most of them with ${cause}` : ''}; ${usualShare(badBefore, allBefore)}.`,
      affects: affected.text,
      advice: 'Look at the failed requests. Test the channel, or rest it so that requests go elsewhere.',
      about: { models: [model], channels, teams: affected.teams },
      actions: channels.length === 0 ? [] : ['test_channel', 'rest_channel'],
      since: since === null ? null : instantOf(since),
      isUrgent: true,
    }),
  ];
}

const share = (rows: readonly UsageRow[]): number =>
  sum(rows.filter(isFailed), requestsOf) / Math.max(1, sum(rows, requestsOf));

const usualShare = (bad: number, all: number): string =>
  all === 0
    ? 'there was nothing to compare with in the last 7 days'
    : `${percent(bad / all)} is usual (last 7 days)`;

/** The values of a group, the one with the most requests first. */
const byCount = (rows: readonly UsageRow[], by: Group): string[] =>
  [...Map.groupBy(rows, ({ group }) => group[by] ?? '')]
    .toSorted(([, a], [, b]) => sum(b, requestsOf) - sum(a, requestsOf))
    .map(([value]) => value);

const isOk = ({ group: { outcome } }: UsageRow): boolean => outcome === 'ok';
const median = (rows: readonly UsageRow[]): number | null =>
  rows.find(isOk)?.latencies.firstOutputMs.quantile(0.5) ?? null;

async function slowModels(
  models: readonly (readonly [string, readonly UsageRow[]])[],
  context: Context,
): Promise<Found[]> {
  const { sources, configuration, usual, nowMs } = context;
  const { slowdown, minRequests } = await sources.thresholds();
  const pairs = models.flatMap(([model, rows]) =>
    [...Map.groupBy(rows.filter(isOk), ({ group: { channel = '' } }) => channel)].flatMap(([channel, of]) => {
      const before = usual.filter(({ group }) => group.model === model && group.channel === channel);
      const [nowTakes, usualTakes] = [median(of), median(before)];
      if (nowTakes === null || usualTakes === null) return [];
      const isCounted =
        sum(of, requestsOf) >= minRequests && sum(before.filter(isOk), requestsOf) >= minRequests;
      const isSlow = nowTakes >= usualTakes * slowdown && nowTakes - usualTakes >= MIN_SLOWER_MS;
      return isCounted && isSlow ? [{ model, channel, nowTakes, usualTakes }] : [];
    }),
  );
  return Promise.all(
    pairs.slice(0, MAX_LOOKED_INTO).map(async ({ model, channel, nowTakes, usualTakes }) => {
      const [since, affected] = await Promise.all([
        sinceOf(sources, { model, channel }, nowMs, (slot) => (median(slot) ?? 0) >= usualTakes * slowdown),
        affectedBy(sources, { model, channel }, nowMs),
      ]);
      const entry = entryOf(configuration, model);
      const others = entry === undefined ? [] : otherChannels(entry, channel);
      return found({
        kind: 'model_slow',
        id: `model_slow ${model} ${channel}`,
        subject: model,
        sentence: `The first output of the model '${model}' takes ${(nowTakes / usualTakes).toFixed(1)} times as long as usual, at the channel '${channel}'.`,
        comparison: `${milliseconds(nowTakes)} at the median of the last 15 minutes; ${milliseconds(usualTakes)} is usual (last 7 days).`,
        affects: [affected.text, others.length === 0 ? 'No other route.' : `Other routes: ${listed(others)}.`]
          .filter((text) => text !== null)
          .join(' '),
        advice:
          others.length === 0
            ? 'Send a test request. Resting the channel moves nothing, since no other one serves the model: add a route.'
            : 'Send a test request, or rest the model on this channel so that requests go elsewhere.',
        about: { models: [model], channels: [channel], teams: affected.teams },
        actions: ['test_channel', 'rest_channel'],
        since: since === null ? null : instantOf(since),
      });
    }),
  );
}

/** Since when it has been so, without a time between in which it was not. Times without requests say nothing. */
async function sinceOf(
  { usage }: FindingSources,
  only: Asked,
  nowMs: number,
  isSo: (slot: readonly UsageRow[]) => boolean,
): Promise<number | null> {
  const rows = await usage.sums({
    ...{ fromMs: nowMs - BACK_MS, toMs: nowMs, isExact: true, only },
    groupBy: ['fiveMinutes', 'outcome', 'errorCode'],
  });
  let since: number | null = null;
  const slots = [...Map.groupBy(rows, ({ group: { fiveMinutes = '' } }) => fiveMinutes)];
  for (const [begin, slot] of slots.toSorted(([a], [b]) => (a < b ? 1 : -1))) {
    if (!isSo(slot)) break;
    since = Date.parse(`${begin}:00Z`);
  }
  return since;
}

async function affectedBy(
  { usage }: FindingSources,
  only: Asked,
  nowMs: number,
): Promise<{ readonly teams: string[]; readonly text: string | null }> {
  const rows = await usage.sums({
    ...{ fromMs: nowMs - NOW_MS, toMs: nowMs, isExact: true, only },
    groupBy: ['team', 'keyId'],
  });
  const teams = byCount(rows, 'team').filter((name) => name !== '');
  const alone = rows.filter(({ group: { team = '' } }) => team === '').length;
  const parts = [
    ...(teams.length === 0 ? [] : [named('team', teams)]),
    ...(alone === 0 ? [] : [`${counted(alone, 'key')} without a team`]),
  ];
  return { teams, text: parts.length === 0 ? null : sentence(parts.join('; ')) };
}
