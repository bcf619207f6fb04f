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

/** The names of callers' keys, their teams and the log of their changes. */
export const keyNames = {
  /** String: the key's record as JSON. */
  record: (keyId: string) => RECORD + keyId,
  recordPrefix: RECORD,
  /** String: the id of the key whose secret has this keyed hash. */
  idOfHash: (hash: string) => `gateway:key-hash:${hash}`,
  /** Sorted set of all key ids, every score 0: ids sort by creation time. */
  index: 'gateway:keys',
  /** String: the team's record as JSON. */
  team: (name: string) => TEAM + name,
  teamPrefix: TEAM,
  /** Sorted set of all teams' names, every score 0. */
  teams: 'gateway:teams',
  /** Stream: who changed what. */
  audit: 'gateway:audit',
} as const;
