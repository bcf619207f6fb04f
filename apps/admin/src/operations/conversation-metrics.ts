import type { StoredConversations } from '@gateway/records/open-records';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Gauge } from 'prom-client';

/** A count is shown for so long: pages of metrics come more often than it changes. */
const COUNTED_MS = 60_000;

interface Sources {
  readonly conversations: StoredConversations;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/** Where stored responses and conversations are, and what was moved. While Redis or the database is away there are no values. */
export function createConversationMetrics(
  { registry }: MetricsRegistry,
  { conversations, now, onError }: Sources,
): void {
  const registers = [registry];
  let counted: { readonly atMs: number; readonly counts: ReturnType<StoredConversations['count']> } | null =
    null;
  new Gauge({
    name: 'gateway_stored_records',
    help: 'Stored responses, conversations and messages of threads by place, as every admin service sees them: take the maximum, not the sum',
    labelNames: ['place'],
    registers,
    async collect() {
      if (counted === null || now() - counted.atMs > COUNTED_MS)
        counted = { atMs: now(), counts: conversations.count() };
      this.reset();
      try {
        const { redis, database } = await counted.counts;
        this.set({ place: 'redis' }, redis);
        this.set({ place: 'database' }, database);
      } catch (error) {
        counted = null;
        onError(error);
      }
    },
  });
  new Counter({
    name: 'gateway_conversations_moved_total',
    help: 'Stored conversations (a response and all that continue it) that were moved to the database, brought back to Redis, or expired in the database',
    labelNames: ['what'],
    registers,
    collect() {
      const { movedOut, broughtBack, expired } = conversations.moved;
      this.reset();
      this.inc({ what: 'moved' }, movedOut);
      this.inc({ what: 'brought_back' }, broughtBack);
      this.inc({ what: 'expired' }, expired);
    },
  });
}
