import { records, USERS } from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Database } from '../database/database.ts';

/** Records by where they are. */
export interface ConversationCounts {
  readonly redis: number;
  readonly database: number;
  /** Of those in the database, as bounds count them. */
  readonly databaseBytes: number;
}

const OWNERS_AT_ONCE = 1000;
const Sums = z.tuple([z.object({ records: z.coerce.number(), bytes: z.coerce.number() })]);

/** Counts what is stored of all owners. */
export async function countConversations({
  redis,
  database,
}: {
  readonly redis: Redis;
  readonly database: Pick<Database, 'read'>;
}): Promise<ConversationCounts> {
  let here = 0;
  for (let at = 0; ; at += OWNERS_AT_ONCE) {
    const owners = await redis.zrange(USERS, `${at}`, `${at + OWNERS_AT_ONCE - 1}`);
    const pipeline = redis.pipeline();
    for (const owner of owners) pipeline.hlen(records(owner));
    for (const [error, count] of (await pipeline.exec()) ?? []) {
      if (error !== null) throw error;
      here += Number(count);
    }
    if (owners.length < OWNERS_AT_ONCE) break;
  }
  const [sums] = Sums.parse(
    await database.read(({ query }) =>
      query(
        'select coalesce(sum(records), 0) as records, coalesce(sum(bytes), 0) as bytes from stored_owners',
      ),
    ),
  );
  return { redis: here, database: sums.records, databaseBytes: sums.bytes };
}
