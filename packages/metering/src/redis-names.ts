// Every name in Redis that metering uses.

const METER = 'gateway:{meter}';

/** A day and an hour in UTC, as they stand in names: `2026-11-20`, `2026-11-20T11`. */
export const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 'YYYY-MM-DD'.length);
export const hourOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 'YYYY-MM-DDTHH'.length);

/**
 * The names of limits, money and usage. The keys of one script share the hash tag `{meter}`, so that a cluster would keep
 * them together.
 */
export const redisNames = {
  reservation: (id: string) => `${METER}:reservation:${id}`,
  openReservations: `${METER}:open-reservations`,
  /** Ids of the requests that have their record, by the day (UTC) on which they began: the same at any time of settling. */
  settledIds: (day: string) => `${METER}:settled-ids:${day}`,
  /** When a rate's bucket will be full again. `owner` is a key's or a team's id. */
  rate: (owner: string, dimension: string, model: string | null) =>
    `${METER}:rate:${owner}:${dimension}${model === null ? '' : `:${model}`}`,
  /** An owner's running requests. */
  slots: (owner: string) => `${METER}:places:${owner}`,
  /** What an owner has spent and reserved in a period. */
  account: (owner: string, period: string) => `${METER}:account:${owner}:${period}`,
  /**
   * String: there since all that Redis has from the database was written: the database's id, and a value of its own each time. Without
   * it Redis was emptied: what is missing may exist all the same.
   */
  epoch: `${METER}:epoch`,
  /** String: the id of the database whose gateway uses this Redis now. */
  database: `${METER}:database`,
  /** Set: ids of requests that had lost their reservation, and whose cost has been added to the accounts all the same. */
  lateIds: `${METER}:late-ids`,
  /** One day's usage records, in UTC: they stay until they are in the database. */
  records: (day: string) => `${METER}:records:${day}`,
  /** One day's counts of refused requests, until they are in the database. */
  refusals: (day: string) => `${METER}:refusals:${day}`,
  /** One hour's sums, in UTC: `2026-11-20T11`. Gateways of before December 2026 kept them, and the latencies. */
  sums: (hour: string) => `${METER}:sums:${hour}`,
  latencies: (hour: string) => `${METER}:latencies:${hour}`,
};

const RECORD = 'gateway:key:';
const TEAM = 'gateway:team:';
const KEY_HASH = 'gateway:key-hash:';

/** The names of what Redis has of callers' keys and their teams, and of the log of changes. */
export const keyNames = {
  /** String: the key's record as JSON. */
  record: (keyId: string) => RECORD + keyId,
  recordPrefix: RECORD,
  /** String: the id of the key whose secret has this keyed hash. */
  idOfHash: (hash: string) => KEY_HASH + hash,
  idOfHashPrefix: KEY_HASH,
  /** Hash: the version of each record that is here, or was; without a name the latest of them. */
  versions: 'gateway:record-versions',
  /** Sorted sets of all keys' ids and all teams' names. Gateways of before December 2026 kept them. */
  index: 'gateway:keys',
  teams: 'gateway:teams',
  /** String: the team's record as JSON. */
  team: (name: string) => TEAM + name,
  teamPrefix: TEAM,
  /** Stream: who did what, on its way into the database. */
  audit: 'gateway:audit',
} as const;
