import type { EventFeed } from './event-feed.ts';
import type { EventLog, LogPage } from './event-log.ts';

interface FollowOptions {
  readonly log: Pick<EventLog, 'read' | 'channelOf'>;
  readonly feed: EventFeed;
  readonly id: string;
  /** The number of the last entry that its reader has; -1 for none. */
  readonly after: number;
  /** When it is aborted, the reader gets what is there by then, and that is all. */
  readonly signal: AbortSignal;
}

/** Until the next read after one that Redis did not answer. */
const RETRY_MS = 1000;

/**
 * A log's entries after a position: those that are there, then each as it comes; a page is empty where something else may have
 * changed. Its reader decides by a page's `rest` whether to go on.
 *
 * @throws what Redis throws, at the first page; later it is tried again
 */
export async function* followLog({ log, feed, id, after, signal }: FollowOptions): AsyncGenerator<LogPage> {
  const bell = createBell();
  const watching = feed.watch(log.channelOf(id), bell.ring);
  signal.addEventListener('abort', bell.ring);
  let last = after;
  let isFirst = true;
  try {
    await watching.isHeard;
    for (;;) {
      const isOver = signal.aborted;
      const page = await log.read(id, last).catch((error: unknown) => {
        if (isFirst || isOver) throw error;
        setTimeout(bell.ring, RETRY_MS).unref();
        return null;
      });
      isFirst = false;
      if (page !== null) {
        last = page.last;
        yield page;
        if (page.isFull) continue;
        if (isOver) return;
      }
      await bell.next();
    }
  } finally {
    watching.stop();
    signal.removeEventListener('abort', bell.ring);
  }
}

/** Wakes one listener. What rings while nobody listens is heard at the next listening. */
export function createBell() {
  let rung = Promise.withResolvers<void>();
  return {
    ring: (): void => rung.resolve(),
    next: async (): Promise<void> => {
      await rung.promise;
      rung = Promise.withResolvers<void>();
    },
  };
}
