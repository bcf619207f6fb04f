import type { Revision, RevisionStore } from '@gateway/records/configuration/revision-store';
import {
  createConfigurationPublisher,
  type PublishedConfiguration,
  versionOf,
} from '@gateway/upstream/configuration/stored/published-configuration';
import type { Redis } from 'ioredis';

interface PublishOptions {
  readonly redis: Redis;
  readonly store: Pick<RevisionStore, 'latest' | 'list'>;
  /** Whether this Redis is another gateway's. */
  readonly isForeign: () => boolean;
}

const contentOf = ({ number, atMs, text, secrets }: Revision): PublishedConfiguration => ({
  number,
  atMs,
  text,
  secrets,
});

/**
 * Brings the latest revision to Redis, where the services look for it, unless it is there: also after Redis was emptied, and after the
 * database was set back. Several processes may do so at the same time.
 */
export function createPublish({ redis, store, isForeign }: PublishOptions): () => Promise<void> {
  const publisher = createConfigurationPublisher(redis);
  /** The version of the revision that was read last. */
  let known: { readonly number: number; readonly atMs: number; readonly version: string } | null = null;

  return async () => {
    if (isForeign()) return;
    // What Redis has is read first: the database is not behind it, unless it was set back.
    const there = await publisher.version();
    const [head] = await store.list({ limit: 1 });
    if (head === undefined) return;
    if (known?.number === head.number && known.atMs === head.atMs && known.version === there) return;
    const latest = await store.latest();
    if (latest === undefined) return;
    const content = contentOf(latest);
    const version = versionOf(content);
    // Where another process was faster, the next round looks again.
    if (version !== there && !(await publisher.publish(content, there))) return;
    known = { number: latest.number, atMs: latest.atMs, version };
  };
}

/** Publishes round by round. Problems pass: who watches Redis and the database reports them. */
export function followRevisions(publish: () => Promise<void>, everyMs = 1000): { close(): Promise<void> } {
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    if (isClosed) return;
    timer = setTimeout(() => {
      running = publish().catch(() => undefined);
      void running.then(next);
    }, everyMs).unref();
  };
  next();
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
