import { parseKeyRecord } from '@gateway/metering/keys/key-record';
import type { RecordKind } from '@gateway/metering/keys/records/access-records';
import type { ProjectedRecord, Projection } from '@gateway/metering/keys/records/projection';
import { keyNames, redisNames } from '@gateway/metering/redis-names';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Queries } from '../database/database.ts';
import { readFact, writeFact } from '../database/facts.ts';
import type { Lease } from '../recorder/lease.ts';
import { storable } from '../usage/usage-groups.ts';
import { takeVersions } from './access-rows.ts';
import { writeRecords } from './access-store.ts';
import { addSpent } from './spent-accounts.ts';

// Gateways of before December 2026 had keys, teams and what accounts have spent in Redis alone. They are read over once; so are those
// that Redis has from another database, by one that has none yet.

const MOVED = 'moved access';
/** How far: the kind, and the id of the last record. */
const MOVING = 'moving access';
const AT_ONCE = 500;
/** Records between two reports. */
const REPORT_EVERY = 20 * AT_ONCE;

const Place = z.object({ kind: z.enum(['team', 'key']), after: z.string() });

/** Whether the database has all keys and teams. */
export const wereMoved = async (queries: Queries): Promise<boolean> =>
  (await readFact(queries, MOVED)) !== undefined;

interface MoveOptions {
  readonly redis: Redis;
  readonly projection: Pick<Projection, 'names' | 'source'>;
  readonly read: <T>(work: (queries: Queries) => Promise<T>) => Promise<T>;
  readonly lease: Pick<Lease, 'write'>;
  readonly now: () => number;
  readonly report: (detail: string) => void;
  readonly stopping: AbortSignal;
}

const KINDS = {
  team: { index: keyNames.teams, nameOf: keyNames.team },
  key: { index: keyNames.index, nameOf: keyNames.record },
} as const satisfies Record<RecordKind, unknown>;

/** Reads over what there is; a start that was killed in the middle goes on. False where it is to stop before the end. */
export async function moveAccess(options: MoveOptions): Promise<boolean> {
  const { redis, projection, read, lease, report, stopping } = options;
  if (await read(wereMoved)) return true;
  const text = await read((queries) => readFact(queries, MOVING));
  const place = text === undefined ? null : Place.parse(JSON.parse(text));
  if ((await projection.source()) !== null)
    for await (const names of projection.names())
      for (const { kind, id } of names) await redis.zadd(KINDS[kind].index, 0, id);
  const hashes = createHashFinder(redis);
  for (const kind of ['team', 'key'] as const) {
    if (kind === 'team' && place?.kind === 'key') continue;
    const total = await redis.zcard(KINDS[kind].index);
    let done = 0;
    for (let after = place?.kind === kind ? place.after : undefined; !stopping.aborted; ) {
      const { last, found } = await readPage(redis, kind, after);
      if (last === undefined) break;
      const records: (ProjectedRecord & { text: string })[] = [];
      for (const one of found) records.push({ ...one, version: 0, text: await hashes.into(one) });
      await lease.write(async (queries) => {
        const version = await takeVersions(queries, records.length);
        await writeRecords(
          queries,
          records.map((record, at) => ({ ...record, version: version - records.length + 1 + at })),
          'keep',
        );
        await writeFact(queries, MOVING, JSON.stringify({ kind, after: last }));
      });
      after = last;
      done += records.length;
      if (done % REPORT_EVERY === 0) report(`${done} of ${total} ${kind}s so far`);
    }
    if (done > 0) report(`${done} ${kind}s`);
  }
  if (stopping.aborted) return false;
  const spent = await readAccounts(redis);
  await lease.write(async (queries) => {
    await addSpent(queries, spent, options.now());
    await writeFact(queries, MOVED, '');
  });
  await redis.unlink(keyNames.index, keyNames.teams);
  return true;
}

async function readPage(redis: Redis, kind: RecordKind, after: string | undefined) {
  const { index, nameOf } = KINDS[kind];
  const from = after === undefined ? '-' : `(${after}`;
  const ids = await redis.zrange(index, from, '+', 'BYLEX', 'LIMIT', 0, AT_ONCE);
  const texts = ids.length === 0 ? [] : await redis.mget(ids.map(nameOf));
  // One that is named by the index alone is passed over.
  const found = ids.flatMap((id, at) => {
    const text = texts[at] ?? null;
    return text === null ? [] : [{ kind, id, text }];
  });
  return { last: ids.at(-1), found };
}

/** Records of the first version do not say their secret's hash: the name that leads to them does. */
function createHashFinder(redis: Redis) {
  let found: Map<string, string[]> | undefined;
  const findAll = async (): Promise<Map<string, string[]>> => {
    const all = new Map<string, string[]>();
    for await (const names of redis.scanStream({ match: `${keyNames.idOfHashPrefix}*`, count: 1000 })) {
      const some = z.array(z.string()).parse(names);
      const ids = some.length === 0 ? [] : await redis.mget(some);
      for (const [at, name] of some.entries()) {
        const id = ids[at];
        if (id != null) all.set(id, [...(all.get(id) ?? []), name.slice(keyNames.idOfHashPrefix.length)]);
      }
    }
    return all;
  };
  return {
    /** The record's text with every hash in it. A text that cannot be read stays as it is. */
    into: async ({ kind, id, text }: { kind: RecordKind; id: string; text: string }): Promise<string> => {
      if (kind === 'team') return storable(text);
      let record: ReturnType<typeof parseKeyRecord>;
      try {
        record = parseKeyRecord(text);
      } catch {
        return storable(text);
      }
      if (record.secrets.every(({ hash }) => hash !== null)) return text;
      found ??= await findAll();
      const known = new Set(record.secrets.map(({ hash }) => hash));
      const unnamed = (found.get(id) ?? []).filter((hash) => !known.has(hash));
      const secrets = record.secrets.map((secret) =>
        secret.hash === null ? { ...secret, hash: unnamed.shift() ?? null } : secret,
      );
      return JSON.stringify({ ...record, secrets });
    },
  };
}

/** What accounts have spent, by their names. */
async function readAccounts(redis: Redis): Promise<Map<string, number>> {
  const spent = new Map<string, number>();
  for await (const found of redis.scanStream({ match: redisNames.account('*', '*'), count: 1000 })) {
    const names = z.array(z.string()).parse(found);
    const values = await Promise.all(names.map((name) => redis.hget(name, 'spent')));
    for (const [at, name] of names.entries()) {
      const microUsd = Number(values[at] ?? 0);
      if (Number.isSafeInteger(microUsd) && microUsd > 0) spent.set(name, microUsd);
    }
  }
  return spent;
}
