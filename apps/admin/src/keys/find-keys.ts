import type { KeyRecord } from '@gateway/metering/keys/key-record';
import type { KeyPage, KeyStore } from '@gateway/metering/keys/key-store';
import { TeamName } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { type Scope, seesKey } from '../sessions/scope.ts';

const KEY_STATES = ['active', 'disabled', 'expired', 'revoked'] as const;
type KeyState = (typeof KEY_STATES)[number];

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

const KEYS_AT_ONCE = 200;
/** How many keys one request looks through. A page may be short, and have a `next` all the same. */
const MAX_SCANNED = 2_000;

/** One page of the keys that a filter selects among those that a person sees, the newest first. */
export async function findKeys(
  keys: Pick<KeyStore, 'listKeys'>,
  filter: KeyFilter,
  { limit, after, nowMs, scope }: FindOptions,
): Promise<KeyPage> {
  const isWanted = wantedBy(filter, { nowMs, scope });
  if (isWanted === null) return keys.listKeys({ limit, after });
  const found: KeyRecord[] = [];
  let cursor = after;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += KEYS_AT_ONCE) {
    const page = await keys.listKeys({ limit: KEYS_AT_ONCE, after: cursor });
    const wanted = page.keys.filter(isWanted);
    const room = limit - found.length;
    found.push(...wanted.slice(0, room));
    if (wanted.length > room) return { keys: found, next: found.at(-1)?.id ?? null };
    if (page.next === null) return { keys: found, next: null };
    // Not the last that was scanned: it may be a key that the person does not see.
    if (found.length === limit) return { keys: found, next: found.at(-1)?.id ?? null };
    cursor = page.next;
  }
  return { keys: found, next: cursor ?? null };
}

function wantedBy(
  { search, team, state }: KeyFilter,
  { nowMs, scope }: Pick<FindOptions, 'nowMs' | 'scope'>,
): ((record: KeyRecord) => boolean) | null {
  const text = search?.trim().toLowerCase() ?? '';
  if (text === '' && team === undefined && state === undefined && scope.kind === 'all') return null;
  const isSeen = seesKey(scope);
  return (record) =>
    isSeen(record) &&
    (team === undefined || record.team === team) &&
    (state === undefined || stateOf(record, nowMs) === state) &&
    (text === '' || searchedTexts(record).some((one) => one.toLowerCase().includes(text)));
}

function stateOf({ revokedAt, disabled, expiresAt }: KeyRecord, nowMs: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs) return 'expired';
  return disabled ? 'disabled' : 'active';
}

const searchedTexts = ({ name, id, owner, team, labels }: KeyRecord): string[] => [
  name,
  id,
  owner ?? '',
  team ?? '',
  ...Object.entries(labels).flat(),
];
