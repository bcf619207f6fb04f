import type { Span } from '@gateway/contracts/trace/request-trace';
import { SpanBatch } from './span-batch.ts';

/** Why spans were not exported: the queue was full, or the collector did not take them. */
export type DropReason = 'queue_full' | 'export_failed';

/** Sends batches to a collector. */
export interface Collector {
  /** @param message as `SpanBatch` writes it. Rejects where the collector does not take it. */
  send(message: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface SpanExportOptions {
  readonly collector: Collector;
  /** As `resourceMessage` writes it. */
  readonly resource: Uint8Array;
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
  readonly onDropped: (count: number, reason: DropReason) => void;
  /** The collector did not take a batch. */
  readonly onFailure: (error: unknown) => void;
}

export interface SpanExport {
  /** Never waits and never fails: a full queue drops it. */
  write(span: Span): void;
  /** Exports what is queued. */
  close(): Promise<void>;
}

const MEBIBYTE = 1024 ** 2;
/** Collectors take a few more. */
const MAX_BATCH_BYTES = 2 * MEBIBYTE;
/** Spans with content may be large: as many of them do not wait. */
const MAX_QUEUE_BYTES = 64 * MEBIBYTE;

/** At the end there is little time: so many batches are sent at once. The exporter takes 30. */
const SENT_AT_END = 8;

/** Queues spans that have ended, and exports them in batches, one after the other. */
export function createSpanExport(options: SpanExportOptions): SpanExport {
  const { collector, resource, onDropped, onFailure, maxQueueSize } = options;
  const batchSize = Math.min(options.maxExportBatchSize, maxQueueSize);
  const full: SpanBatch[] = [];
  let filling: SpanBatch | null = null;
  /** Its buffer has grown to what a batch takes. */
  let spare: SpanBatch | null = null;
  let queued = 0;
  let queuedBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let isDue = false;

  const begin = (): SpanBatch => {
    const batch = spare ?? new SpanBatch(resource);
    spare = null;
    return batch;
  };
  const fill = () => {
    clearTimeout(timer);
    timer = undefined;
    isDue = false;
    if (filling === null) return;
    full.push(filling);
    queuedBytes += filling.sizeBytes;
    filling = null;
  };
  const send = async (batch: SpanBatch): Promise<void> => {
    const { count } = batch;
    queued -= count;
    queuedBytes -= batch.sizeBytes;
    const message = batch.take();
    spare ??= batch;
    try {
      await collector.send(message);
    } catch (error) {
      onDropped(count, 'export_failed');
      onFailure(error);
    }
  };
  const sendNext = () => {
    if (isSending) return;
    if (full.length === 0 && isDue) fill();
    const batch = full.shift();
    if (batch === undefined) return;
    isSending = true;
    void withinTime(send(batch), options.exportTimeoutMillis).then(() => {
      isSending = false;
      sendNext();
    });
  };
  const due = () => {
    timer = undefined;
    isDue = true;
    sendNext();
  };
  return {
    write: (span) => {
      if (queued >= maxQueueSize || queuedBytes >= MAX_QUEUE_BYTES) return onDropped(1, 'queue_full');
      filling ??= begin();
      filling.add(span);
      queued += 1;
      if (filling.count >= batchSize || filling.sizeBytes >= MAX_BATCH_BYTES) {
        fill();
        sendNext();
      } else if (!isDue) timer ??= setTimeout(due, options.scheduledDelayMillis).unref();
    },
    close: async () => {
      fill();
      while (full.length > 0) await Promise.all(full.splice(0, SENT_AT_END).map(send));
      await collector.close();
    },
  };
}

/** Resolves when it has ended, or this time is over. */
async function withinTime(work: Promise<void>, ms: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms).unref();
  await Promise.race([work, late]);
  clearTimeout(timer);
}
