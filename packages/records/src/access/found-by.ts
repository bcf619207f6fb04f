import { parseKeyRecord } from '@gateway/metering/keys/key-record';
import type { RecordKind } from '@gateway/metering/keys/records/access-records';
import { parseTeamRecord } from '@gateway/metering/teams/team-record';

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
