import type { Redis } from 'ioredis';
import { awaitRedis } from '../await-redis.ts';

export interface PageRequest {
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string | undefined;
}

/** One page of an index with the texts of its records. */
export async function listRecords(
  redis: Redis,
  { index, nameOf, order }: { index: string; nameOf: (id: string) => string; order: 'newest' | 'by name' },
  { limit, after }: PageRequest,
): Promise<{ records: readonly { id: string; text: string }[]; next: string | null }> {
  const from = after === undefined ? undefined : `(${after}`;
  const ids = await awaitRedis(
    order === 'newest'
      ? redis.zrange(index, from ?? '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, limit + 1)
      : redis.zrange(index, from ?? '-', '+', 'BYLEX', 'LIMIT', 0, limit + 1),
  );
  const shown = ids.slice(0, limit);
  const texts = shown.length === 0 ? [] : await awaitRedis(redis.mget(shown.map(nameOf)));
  return {
    records: shown.flatMap((id, at) => {
      const text = texts[at] ?? null;
      return text === null ? [] : [{ id, text }];
    }),
    next: ids.length > limit ? (shown.at(-1) ?? null) : null,
  };
}
