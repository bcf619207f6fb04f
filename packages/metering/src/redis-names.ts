/**
 * Every name that metering uses in Redis. The keys of one script share the hash tag `{meter}`, so that a cluster would
 * keep them together.
 */
const METER = 'gateway:{meter}';

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
  /** One day's usage records, in UTC. */
  records: (day: string) => `${METER}:records:${day}`,
  /** One hour's sums, in UTC: `2026-11-20T11`. */
  sums: (hour: string) => `${METER}:sums:${hour}`,
  /** How many requests of one hour took how long. */
  latencies: (hour: string) => `${METER}:latencies:${hour}`,
};
