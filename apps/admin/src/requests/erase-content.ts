import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { ContentReader, ErasedPart, Whose } from '@gateway/model-service/content-log/content-reader';
import type { UsageStore } from '@gateway/records/usage/usage-store';

/** Records whose lines one call deletes: each may lie in an object of its own. */
const PAGE = 50;
/** Where a call goes on: behind a page of usage records, or behind an object. */
const CURSOR = /^(records|objects):(.*)$/;
const OBJECTS = 'objects:';

interface ErasedFrom {
  readonly usage: Pick<UsageStore, 'newest'>;
  readonly content: Pick<ContentReader, 'remove' | 'erase'>;
  readonly now: () => number;
}

/**
 * Deletes what the content log has of a key or an end user, as much as one call may take. Of an end user first what usage records name,
 * since a line may have the name redacted; then every line that names it, also where its usage record is gone.
 *
 * @param cursor `next` of the call before; null for the first one
 */
export async function eraseContent(
  { usage, content, now }: ErasedFrom,
  whose: Whose,
  cursor: string | null,
): Promise<ErasedPart> {
  const place = CURSOR.exec(cursor ?? '');
  if (cursor !== null && place === null)
    throw new GatewayError('invalid_value', { path: ['cursor'], message: "Send 'next' of the call before." });
  const [, phase = 'endUser' in whose ? 'records' : 'objects', after = ''] = place ?? [];
  if (phase === 'objects' || !('endUser' in whose)) {
    const { deleted, next } = await content.erase(whose, after === '' ? null : after);
    return { deleted, next: next && OBJECTS + next };
  }
  const { records, next } = await awaitRedis(
    usage.newest({
      ...{ fromMs: 0, toMs: now() + 1, after: after === '' ? undefined : after, limit: PAGE },
      ...{ only: {}, names: { endUser: whose.endUser }, whose: () => true },
    }),
  );
  const ids = new Map<string, string[]>();
  for (const { id, detail } of records) {
    const object = detail?.contentObject;
    if (object !== undefined) ids.set(object, [...(ids.get(object) ?? []), id]);
  }
  const deleted = ids.size === 0 ? 0 : await content.remove(ids);
  return { deleted, next: next === null ? OBJECTS : `records:${next}` };
}
