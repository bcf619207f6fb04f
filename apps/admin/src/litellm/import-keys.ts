import { TEAM_NAME } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { type AdminClient, CommandError } from '../cli/admin-client.ts';
import type { LitellmKey, LitellmTeam } from './litellm-keys.ts';

const TEAMS = '/admin/v1/teams';
const KEYS = '/admin/v1/keys';
/** Says of a key of the gateway's which one of LiteLLM's it replaces, so that an import can be repeated. */
const LABEL = 'litellm-key';
const HASH_CHARACTERS = 16;

const Created = z.looseObject({ id: z.string(), key: z.string() });
const KnownKey = z.looseObject({ labels: z.record(z.string(), z.string()).nullish() });
const KnownTeam = z.looseObject({ name: z.string() });

interface ImportKeysOptions {
  readonly keys: readonly LitellmKey[];
  readonly teams: readonly LitellmTeam[];
  readonly client: Pick<AdminClient, 'call' | 'list'>;
  readonly nowMs: number;
  /** A line for a person, at once: a secret is never shown again. */
  readonly print: (line: string) => void;
}

/** Makes the teams and keys that are not there yet. Resolves to what is not the same, a sentence each. */
export async function importKeys({
  keys,
  teams,
  client,
  nowMs,
  print,
}: ImportKeysOptions): Promise<readonly string[]> {
  const differences: string[] = [];
  const differ = (what: string) => (text: string) => differences.push(`${what}: ${text}`);
  const there = new Set((await client.list(TEAMS)).map((team) => KnownTeam.parse(team).name));
  const imported = new Set(
    (await client.list(KEYS)).flatMap((key) => KnownKey.parse(key).labels?.[LABEL] ?? []),
  );
  const names = namesOf(teams);
  for (const team of teams) {
    const name = names.get(team.team_id) ?? '';
    if (there.has(name)) differ(`Team ${name}`)('It is already there, and was left as it is.');
    else await client.call('POST', TEAMS, {}, { name, ...usesOf(team, differ(`Team ${name}`)) });
  }
  for (const key of keys) {
    const name = key.key_alias || key.key_name || key.token.slice(0, HASH_CHARACTERS);
    const different = differ(`Key ${name}`);
    const label = key.token.slice(0, HASH_CHARACTERS);
    const team = key.team_id ? teams.find(({ team_id: id }) => id === key.team_id) : undefined;
    if (imported.has(label)) different('It was imported before, and was left as it is.');
    else if (key.expires && Date.parse(key.expires) <= nowMs) different('It has expired, and was left out.');
    else {
      const body = keyBody(key, {
        name: name.slice(0, 200),
        label,
        team,
        teamName: names.get(key.team_id ?? ''),
        different,
      });
      const created = Created.parse(await client.call('POST', KEYS, {}, body));
      print(`${created.key}  ${name}${body.team ? ` (${body.team})` : ''}`);
    }
  }
  return differences;
}

/** Names of teams, by their ids. A name that is taken gets the beginning of its id. */
function namesOf(teams: readonly LitellmTeam[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  return new Map(
    teams.map(({ team_id: id, team_alias: alias }) => {
      const text = (alias || id).replaceAll(/[^\p{L}\p{N} ._-]/gu, '-').slice(0, 80);
      const safe = TEAM_NAME.test(text) ? text : `team ${text}`;
      const name = taken.has(safe) ? `${safe} ${id.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, 8)}` : safe;
      taken.add(name);
      return [id, name] as const;
    }),
  );
}

interface KeyNames {
  readonly name: string;
  readonly label: string;
  readonly team: LitellmTeam | undefined;
  readonly teamName: string | undefined;
  readonly different: (text: string) => void;
}

function keyBody(key: LitellmKey, { name, label, team, teamName, different }: KeyNames) {
  if (key.team_id && teamName === undefined) different('Its team is not in the list of teams: it has none.');
  if (key.user_id && key.user_id !== 'default_user_id')
    different(`Limits and budgets of its user are not carried over; the user is its owner.`);
  const models = modelsOf(key, team, different);
  return {
    name,
    ...(teamName === undefined ? {} : { team: teamName }),
    ...(key.user_id && key.user_id !== 'default_user_id' ? { owner: key.user_id.slice(0, 200) } : {}),
    ...(models === null ? {} : { models }),
    ...(key.expires ? { expiresAt: new Date(key.expires).toISOString() } : {}),
    ...(key.blocked ? { disabled: true } : {}),
    labels: { [LABEL]: label },
    ...usesOf(key, different),
  };
}

/** Words in the place of a list of models. */
const ALL_OF_TEAM = 'all-team-models';
const ALL = 'all-proxy-models';
const MAX_MODELS = 200;

/** Its own models, else those of its team; null: all. */
function modelsOf(key: LitellmKey, team: LitellmTeam | undefined, different: (text: string) => void) {
  const own = key.models ?? [];
  const asked = own.length === 0 || own.includes(ALL_OF_TEAM) ? (team?.models ?? []) : own;
  if (asked.length === 0 || asked.includes(ALL)) return null;
  if (asked.length > MAX_MODELS) different(`Only the first ${MAX_MODELS} of its models were carried over.`);
  return asked.slice(0, MAX_MODELS);
}

const LIMITS = [
  ['rpm_limit', 'requestsPerMinute', 'model_rpm_limit'],
  ['tpm_limit', 'tokensPerMinute', 'model_tpm_limit'],
] as const;

function usesOf(of: LitellmKey | LitellmTeam, different: (text: string) => void) {
  const limits: Record<string, number> = {};
  const models: Record<string, Record<string, number>> = {};
  for (const [name, own, byModel] of LIMITS) {
    const limit = wholeOf(of[name], name, different);
    if (limit !== null) limits[own] = limit;
    for (const [model, value] of Object.entries(PerModel.parse(of.metadata?.[byModel])))
      models[model] = { ...models[model], [own]: Math.max(1, Math.floor(value)) };
  }
  const parallel = wholeOf(of.max_parallel_requests, 'max_parallel_requests', different);
  if (parallel !== null) limits.concurrentRequests = parallel;
  const all = { ...limits, ...(Object.keys(models).length > 0 ? { models } : {}) };
  const budget = budgetOf(of, different);
  return {
    ...(Object.keys(all).length > 0 ? { limits: all } : {}),
    ...(budget === null ? {} : { budget }),
  };
}

const PerModel = z.record(z.string(), z.number()).catch({});

/** A limit of nothing is none that the gateway has: such a key is disabled by a person. */
function wholeOf(
  value: number | null | undefined,
  name: string,
  different: (text: string) => void,
): number | null {
  if (value === null || value === undefined) return null;
  if (value >= 1) return Math.floor(value);
  different(
    `Its ${name} is ${value}, which lets no request through; it was left out. Disable the key or the team instead.`,
  );
  return null;
}

const DAYS: Readonly<Record<string, number>> = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, mo: 30 };
/** The longest duration in days that becomes this period. */
const PERIODS = [
  ['day', 3],
  ['week', 15],
  ['month', Number.POSITIVE_INFINITY],
] as const;
const EXACT_DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };

function budgetOf(
  { max_budget: usd, budget_duration: duration }: LitellmKey | LitellmTeam,
  different: (text: string) => void,
) {
  if (usd === null || usd === undefined) return null;
  const rounded = Math.round(usd * 1e6) / 1e6;
  if (!duration) return { usd: rounded, period: 'total' };
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w|mo)$/.exec(duration) ?? [];
  const days = Number(count) * (DAYS[unit] ?? Number.NaN);
  const [period] = PERIODS.find(([, most]) => days <= most) ?? ['month'];
  if (days !== EXACT_DAYS[period])
    different(`Its budget is for ${duration}, and now for each ${period}: budgets are of calendar periods.`);
  else different(`Its budget of ${duration} begins with each ${period} of the calendar.`);
  return { usd: rounded, period };
}

/** @throws {CommandError} */
export function litellmAddress(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '')
    return url;
  throw new CommandError('--from is the address of the running LiteLLM, such as http://127.0.0.1:4000.');
}
