import { GatewayError } from '@gateway/contracts/gateway-error';
import type { KeyPage, KeyStore } from '@gateway/metering/keys/key-store';
import { KEY_SORTS, KEY_STATES, type KeyUse } from '@gateway/metering/keys/records/access-records';
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

/** In which order a list shows them. `lastUsed`, `requests` and `spend` are as `lastUsedAt` and `last30Days` say. */
export const KeySort = z.strictObject({
  sort: z.enum(KEY_SORTS).default('created'),
  order: z.enum(['ascending', 'descending']).default('descending'),
});
type KeySort = z.infer<typeof KeySort>;

/** `next` of such a list: a key, and of what it is sorted by the value that it had. */
export const KEY_CURSOR = /^(?:\d{1,16}\.)?key_[0-9a-z_]{1,60}$/;

/** @throws {GatewayError} for the `next` of a list in another order */
export function checkCursor(cursor: string | undefined, { sort }: KeySort): void {
  if (cursor === undefined || cursor.includes('.') === (sort !== 'created')) return;
  throw new GatewayError('invalid_value', {
    message: "Invalid value for 'cursor': it is the 'next' of a list in another order.",
    path: ['cursor'],
  });
}

const UNUSED: KeyUse = { lastUsedMs: null, requests: 0, microUsd: 0 };

/** How much a key is used, as lists show it. */
export const shownUse = ({ lastUsedMs, requests, microUsd }: KeyUse = UNUSED) => ({
  lastUsedAt: lastUsedMs === null ? null : new Date(lastUsedMs).toISOString(),
  last30Days: { requests, costMicroUsd: microUsd },
});

interface FindOptions {
  readonly limit: number;
  readonly after: string | undefined;
  readonly nowMs: number;
  readonly scope: Scope;
}

/** One page of the keys that a filter selects among those that a person sees. */
export function findKeys(
  keys: Pick<KeyStore, 'listKeys'>,
  { search, team, state, sort, order }: KeyFilter & KeySort,
  { limit, after, nowMs, scope }: FindOptions,
): Promise<KeyPage> {
  const seen = scope.kind === 'teams' ? scope.teams : undefined;
  const only = {
    ids: scope.kind === 'key' ? [scope.keyId] : undefined,
    teams: team === undefined ? seen : seen === undefined || seen.includes(team) ? [team] : [],
    states: state && { of: [state], nowMs },
    search,
  };
  return keys.listKeys({ limit, after, only, order: { by: sort, isAscending: order === 'ascending' } });
}
