import { eventFrame } from '@gateway/contracts/event-stream/sse-frames';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { RecordTail } from '@gateway/metering/usage/record-tail';
import type { ShowRequest } from './shown-request.ts';

/** Shows requests as they end, to several readers. */
export interface RequestTail {
  /**
   * The requests that a reader wants, as server-sent events: `request` with the request, `skipped` with how many at least were left
   * out because there were too many. It ends when the service stops.
   *
   * @throws {GatewayError} `overloaded` where there are too many readers
   */
  open(isWanted: (record: UsageRecord) => boolean): AsyncGenerator<string>;
}

interface RequestTailOptions {
  /** Made for each time in which there are readers. */
  readonly openTail: () => RecordTail;
  readonly show: ShowRequest;
  readonly stopping: AbortSignal;
}

/** One look serves all readers. */
const LOOK_EVERY_MS = 1000;
/** What a reader may have waiting for it: more than a page can show. */
const MAX_PENDING = 200;
const MAX_READERS = 32;
/** Looks without an event until a comment is sent: no proxy takes the connection for dead, and a reader that has left is noticed. */
const QUIET_LOOKS = 5;

interface Reader {
  readonly isWanted: (record: UsageRecord) => boolean;
  pending: UsageRecord[];
  skipped: number;
  wake: () => void;
}

export function createRequestTail({ openTail, show, stopping }: RequestTailOptions): RequestTail {
  const readers = new Set<Reader>();
  let timer: NodeJS.Timeout | undefined;
  /** The first look of a time with readers, which finds where the records end. */
  let looking: Promise<void> | null = null;

  const hand = (reader: Reader, records: readonly UsageRecord[], hasMore: boolean): void => {
    const wanted = records.filter(reader.isWanted);
    const room = Math.max(0, MAX_PENDING - reader.pending.length);
    reader.pending.push(...wanted.slice(0, room));
    reader.skipped += Math.max(0, wanted.length - room) + (hasMore ? 1 : 0);
    reader.wake();
  };

  const look = async (tail: RecordTail): Promise<void> => {
    // While Redis is away there is nothing to show; readers are told nothing else.
    const { records, hasMore } = await tail.read().catch(() => ({ records: [], hasMore: false }));
    for (const reader of readers) hand(reader, records, hasMore);
    if (readers.size === 0 || stopping.aborted) looking = null;
    else timer = setTimeout(() => void look(tail), LOOK_EVERY_MS);
  };

  stopping.addEventListener('abort', () => {
    clearTimeout(timer);
    for (const { wake } of readers) wake();
  });

  return {
    async *open(isWanted) {
      if (readers.size >= MAX_READERS)
        throw new GatewayError('overloaded', {
          message: `${MAX_READERS} live lists are already open. Close one of them, or list the requests instead.`,
        });
      const reader: Reader = { isWanted, pending: [], skipped: 0, wake: () => undefined };
      readers.add(reader);
      try {
        looking ??= look(openTail());
        await looking;
        yield ': open\n\n';
        let quietLooks = 0;
        while (!stopping.aborted) {
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
            if (reader.pending.length > 0 || stopping.aborted) resolve();
          });
          const { pending, skipped } = reader;
          reader.pending = [];
          reader.skipped = 0;
          for (const record of pending) yield eventFrame('request', show(record));
          if (skipped > 0) yield eventFrame('skipped', { count: skipped });
          quietLooks = pending.length > 0 ? 0 : quietLooks + 1;
          if (quietLooks === QUIET_LOOKS) {
            quietLooks = 0;
            yield ': quiet\n\n';
          }
        }
      } finally {
        readers.delete(reader);
      }
    },
  };
}
