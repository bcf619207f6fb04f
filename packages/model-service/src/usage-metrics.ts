import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Histogram } from 'prom-client';

/** What settled requests cost, and how fast their models wrote. */
export interface UsageMetrics {
  settled(record: UsageRecord): void;
}

/** Wildcards let callers name models at will: names beyond these many are `other`. */
const MAX_MODELS = 200;
const OTHER = 'other';
const NO_CHANNEL = 'none';
const NO_TEAM = 'none';

/** Seconds: fast models need some milliseconds for a token, slow ones a tenth of a second. */
const TOKEN_BUCKETS = [0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1];
const MICRO_USD_PER_USD = 1_000_000;

/** @param maxTeams how many teams have samples of their own; 0: teams are no label */
export function createUsageMetrics(
  { registry }: MetricsRegistry,
  { maxTeams }: { readonly maxTeams: number },
): UsageMetrics {
  const registers = [registry];
  const cost = new Counter({
    name: 'gateway_cost_usd_total',
    help: 'What settled requests cost, in US dollars, by channel and model',
    labelNames: ['channel', 'model'],
    registers,
  });
  const perToken = new Histogram({
    name: 'gateway_output_token_seconds',
    help: 'Time per output token after the first output of a streamed answer, by channel',
    labelNames: ['channel'],
    buckets: TOKEN_BUCKETS,
    registers,
  });
  const models = boundedNames(MAX_MODELS);
  const countTeam = maxTeams > 0 ? teamCounters({ registry }, maxTeams) : () => undefined;
  return {
    settled: (record) => {
      const channel = record.channel ?? NO_CHANNEL;
      const usd = (record.costMicroUsd ?? 0) / MICRO_USD_PER_USD;
      if (usd > 0) cost.inc({ channel, model: models(record.model) }, usd);
      const seconds = secondsPerToken(record);
      if (seconds !== null) perToken.observe({ channel }, seconds);
      countTeam(record, usd);
    },
  };
}

function teamCounters({ registry }: MetricsRegistry, maxTeams: number) {
  const labelNames = ['team'];
  const registers = [registry];
  const requests = new Counter({
    name: 'gateway_team_requests_total',
    help: 'Settled requests, by team',
    labelNames,
    registers,
  });
  const cost = new Counter({
    name: 'gateway_team_cost_usd_total',
    help: 'What settled requests cost, in US dollars, by team',
    labelNames,
    registers,
  });
  const teams = boundedNames(maxTeams);
  return ({ team }: UsageRecord, usd: number): void => {
    const labels = { team: team === null ? NO_TEAM : teams(team) };
    requests.inc(labels);
    if (usd > 0) cost.inc(labels, usd);
  };
}

/** Between the first output and the end; null where nothing was streamed, or the tokens are estimated. */
function secondsPerToken({
  outcome,
  estimated,
  firstByteMs,
  durationMs,
  consumption,
  detail,
}: UsageRecord): number | null {
  const later = consumption.outputTokens - 1;
  // A whole answer has a first byte as well, by less than a millisecond before its end.
  if (detail?.isStreamed !== true) return null;
  if (outcome !== 'ok' || estimated || firstByteMs === null || later <= 0) return null;
  const ms = durationMs - firstByteMs;
  return ms > 0 ? ms / later / 1000 : null;
}

/** The first names as they are, and one for all others. */
function boundedNames(max: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= max) return OTHER;
    known.add(name);
    return name;
  };
}
