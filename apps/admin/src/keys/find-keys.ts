import type { KeyPage, KeyStore } from '@gateway/metering/keys/key-store';
import { KEY_STATES } from '@gateway/metering/keys/records/access-records';
import { TeamName } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import type { Scope } from '../sessions/scope.ts';

/** Which keys a list shows. Absent members do not count. */
export const KeyFilter = z.strictObject({
  /** A part of the name, the id, the owner, the team or a label, in upper or lower case. */
  search: z.string().max(200).optional(),
  team: TeamName.optional(),
  state: z.enum(KEY_STATES).optional(),
});
type KeyFilter = z.infer<typeof KeyFilter>;

interface FindOptions {
  readonly limit: number;
  readonly after: string | undefined;
  readonly nowMs: number;
  readonly scope: Scope;
}

/** One page of the keys that a filter selects among those that a person sees, the newest first. */
export function findKeys(
  keys: Pick<KeyStore, 'listKeys'>,
  { search, team, state }: KeyFilter,
  { limit, after, nowMs, scope }: FindOptions,
): Promise<KeyPage> {
  const seen = scope.kind === 'teams' ? scope.teams : undefined;
  const only = {
    ids: scope.kind === 'key' ? [scope.keyId] : undefined,
    teams: team === undefined ? seen : seen === undefined || seen.includes(team) ? [team] : [],
    states: state && { of: [state], nowMs },
    search,
  };
  return keys.listKeys({ limit, after, only });
}
