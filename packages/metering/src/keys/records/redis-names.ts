const RECORD = 'gateway:key:';
const TEAM = 'gateway:team:';

/** Every Redis name that callers' keys, their teams and the log of their changes use. */
export const redisNames = {
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
