import type { ChainableCommander, Redis } from 'ioredis';
import { restField, SharedRest } from './rest.ts';

/** Every name that the health of channels uses in Redis. The hash tag keeps what one transaction changes together. */
const RESTS = 'gateway:{channel-rests}';
export const restNames = {
  /** Hash: all rests as JSON, by `restField`. */
  rests: RESTS,
  /** Counts every change of the hash, so that replicas read it only after one. */
  version: `${RESTS}:version`,
  /** String that expires: a replica's request probes what rested. */
  probe: (field: string) => `${RESTS}:probe:${field}`,
};

/** A rest that nobody probed for this long after its end is dropped: nobody uses its target. */
const UNPROVEN_MS = 3_600_000;

export interface RestChanges {
  readonly put: readonly SharedRest[];
  /** Fields. */
  readonly remove: readonly string[];
}

/** The rests that all replicas share. Every call rejects while Redis is away. */
export interface RestStore {
  /** A text that changes with every change of the rests. */
  version(): Promise<string>;
  /** Redis' time, in milliseconds since 1970. */
  time(): Promise<number>;
  /** All rests but those that are long over. */
  read(nowMs: number): Promise<readonly SharedRest[]>;
  write(changes: RestChanges): Promise<void>;
  /** Whether nobody else probes what rested. The lease ends by itself after `forMs`. */
  beginProbe(field: string, forMs: number): Promise<boolean>;
  endProbe(field: string): Promise<void>;
}

/** Adds changes of the rests to a transaction of the caller. */
export function changeRests(transaction: ChainableCommander, { put, remove }: RestChanges): void {
  for (const rest of put) transaction.hset(restNames.rests, restField(rest), JSON.stringify(rest));
  if (remove.length > 0) transaction.hdel(restNames.rests, ...remove);
  transaction.incr(restNames.version);
}

/** Rejects unless all of a transaction was done. */
export async function commit(transaction: ChainableCommander): Promise<void> {
  const results = await transaction.exec();
  const failed = results?.find(([error]) => error !== null)?.[0];
  if (failed) throw failed;
}

const parse = (text: string): SharedRest | undefined => {
  try {
    return SharedRest.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

const isOld = ({ untilMs }: SharedRest, nowMs: number): boolean =>
  untilMs !== null && untilMs + UNPROVEN_MS < nowMs;

export const createRestStore = (redis: Redis): RestStore => ({
  async version() {
    return (await redis.get(restNames.version)) ?? '';
  },

  async time() {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  },

  async read(nowMs) {
    const found = Object.entries(await redis.hgetall(restNames.rests));
    const rests = found.map(([field, text]) => ({ field, rest: parse(text) }));
    // What cannot be read is of another version of the gateway, and stays.
    const old = rests.filter(({ rest }) => rest !== undefined && isOld(rest, nowMs));
    if (old.length > 0) await redis.hdel(restNames.rests, ...old.map(({ field }) => field));
    return rests.flatMap(({ rest }) => (rest === undefined || isOld(rest, nowMs) ? [] : [rest]));
  },

  async write(changes) {
    const transaction = redis.multi();
    changeRests(transaction, changes);
    await commit(transaction);
  },

  async beginProbe(field, forMs) {
    return (await redis.set(restNames.probe(field), '', 'PX', forMs, 'NX')) === 'OK';
  },

  async endProbe(field) {
    await redis.del(restNames.probe(field));
  },
});
