import { parseKeyRecord } from '@gateway/metering/keys/key-record';
import type { KeyState, RecordFilter, RecordKind } from '@gateway/metering/keys/records/access-records';
import { parseTeamRecord } from '@gateway/metering/teams/team-record';
import { likePattern, type SqlValue } from '../database/database.ts';

/** What lists find records by, as columns beside each. */
interface FoundBy {
  readonly team: string | null;
  readonly state: 'active' | 'disabled' | 'revoked';
  /** Unix milliseconds; null: never. */
  readonly expires_at: number | null;
  readonly has_budget: 0 | 1;
  /** In lower case, by lines. */
  readonly searched: string;
}

/** A text that cannot be read is found by its id alone. */
export function foundBy(record: {
  readonly kind: RecordKind;
  readonly id: string;
  readonly text: string;
}): FoundBy {
  try {
    return record.kind === 'key' ? keyFoundBy(record.text) : teamFoundBy(record.text);
  } catch {
    const searched = record.id.toLowerCase();
    return { team: null, state: 'disabled', expires_at: null, has_budget: 0, searched };
  }
}

function keyFoundBy(text: string): FoundBy {
  const { id, name, owner, team, labels, revokedAt, disabled, expiresAt, budget } = parseKeyRecord(text);
  const searched = [name, id, owner ?? '', team ?? '', ...Object.entries(labels).flat()];
  return {
    team,
    state: revokedAt !== null ? 'revoked' : disabled ? 'disabled' : 'active',
    expires_at: expiresAt === null ? null : Date.parse(expiresAt),
    has_budget: budget === null ? 0 : 1,
    searched: searched.join('\n').toLowerCase(),
  };
}

function teamFoundBy(text: string): FoundBy {
  const { name, budget } = parseTeamRecord(text);
  return {
    ...{ team: null, state: 'active', expires_at: null, has_budget: budget === null ? 0 : 1 },
    searched: name.toLowerCase(),
  };
}

type Place = (value: SqlValue) => string;

const NOT_EXPIRED = (now: string) => `(expires_at is null or expires_at > ${now})`;
const STATES: Readonly<Record<KeyState, (now: string) => string>> = {
  active: (now) => `(state = 'active' and ${NOT_EXPIRED(now)})`,
  disabled: (now) => `(state = 'disabled' and ${NOT_EXPIRED(now)})`,
  expired: (now) => `(state <> 'revoked' and expires_at <= ${now})`,
  revoked: () => "state = 'revoked'",
};

/** What records have to fulfil. `place` takes a value of the query, and returns its name in it. */
export function conditionsOf(
  { ids, teams, states, hasBudget, expiresBy, search }: RecordFilter,
  place: Place,
): string[] {
  const conditions: string[] = [];
  if (ids !== undefined) conditions.push(isAmong('id', ids, place));
  if (teams !== undefined) conditions.push(isAmong('team', teams, place));
  if (states !== undefined) {
    const { of, nowMs } = states;
    // A name that no state uses would be one too many for PostgreSQL.
    const moment = of.some((state) => state !== 'revoked') ? place(nowMs) : '';
    conditions.push(`(${of.map((state) => STATES[state](moment)).join(' or ') || NEVER})`);
  }
  if (hasBudget !== undefined) conditions.push(`has_budget = ${place(hasBudget ? 1 : 0)}`);
  if (expiresBy !== undefined) conditions.push(`expires_at <= ${place(expiresBy)}`);
  const text = search?.trim().toLowerCase() ?? '';
  if (text !== '') conditions.push(`searched like ${place(likePattern(text))} escape '\\'`);
  return conditions;
}

const NEVER = '1 = 0';

const isAmong = (column: string, values: readonly string[], place: Place): string =>
  values.length === 0 ? NEVER : `${column} in (${values.map(place).join(', ')})`;
