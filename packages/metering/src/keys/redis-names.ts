/** Every Redis name that caller keys use. */
export const redisNames = {
  /** String: the key's record as JSON. */
  record: (keyId: string) => `gateway:key:${keyId}`,
  /** String: the id of the key whose secret has this keyed hash. */
  idOfHash: (hash: string) => `gateway:key-hash:${hash}`,
  /** Sorted set of all key ids, every score 0: ids sort by the time of their making. */
  index: 'gateway:keys',
} as const;
