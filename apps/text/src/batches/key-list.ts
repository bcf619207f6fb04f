import type { Redis } from 'ioredis';

/** Where a page of a key's objects begins, and its order. */
export interface PageQuery {
  /** The object before the page's first. */
  readonly after?: string | undefined;
  /** The object after the page's last; the page ends there. */
  readonly before?: string | undefined;
  readonly limit: number;
  readonly order?: 'asc' | 'desc' | undefined;
}

export interface ObjectPage<Found> {
  readonly objects: readonly Found[];
  readonly hasMore: boolean;
}

const AT_ONCE = 100;

/**
 * A page of the objects that a sorted set lists by when they were made, the newest first unless it is to be otherwise; undefined where the
 * object that it begins at is not listed.
 *
 * @param find undefined for one that is not to be shown
 */
export async function pageOf<Found>(
  redis: Redis,
  key: string,
  { after, before, limit, order = 'desc' }: PageQuery,
  find: (id: string) => Promise<Found | undefined>,
): Promise<ObjectPage<Found> | undefined> {
  const isBackwards = before !== undefined;
  const isFromNewest = (order === 'desc') !== isBackwards;
  const cursor = after ?? before;
  const rank =
    cursor === undefined ? -1 : await (isFromNewest ? redis.zrevrank(key, cursor) : redis.zrank(key, cursor));
  if (rank === null) return undefined;
  const objects: Found[] = [];
  for (let start = rank + 1; ; start += AT_ONCE) {
    const end = start + AT_ONCE - 1;
    const ids = await (isFromNewest
      ? redis.zrevrange(key, start, end)
      : redis.zrange(key, String(start), String(end)));
    for (const found of await Promise.all(ids.map(find))) {
      if (found === undefined) continue;
      if (objects.length === limit)
        return { objects: isBackwards ? objects.reverse() : objects, hasMore: true };
      objects.push(found);
    }
    if (ids.length < AT_ONCE) return { objects: isBackwards ? objects.reverse() : objects, hasMore: false };
  }
}
