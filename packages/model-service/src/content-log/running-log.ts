import { join } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import type { ContentLogOptions, EndedContent, LoggedContent } from './content-log.ts';
import type { ContentMetrics, LossReason } from './content-metrics.ts';
import { bytesOf } from './content-side.ts';
import { CONTENT_SPOOL, type ContentSpool, createContentSpool, type PendingLine } from './content-spool.ts';
import type { LineTask } from './line-task.ts';

const MEBIBYTE = 1024 ** 2;
const SPOOL = { maxBytes: 1024 * MEBIBYTE, fileBytes: 8 * MEBIBYTE, fileMs: 30_000 };
const BRING_MS = 5_000;
/** What waits for the thread at most: a request beyond it is lost to the log. */
const MAX_WAITING = { lines: 2000, bytes: 128 * MEBIBYTE };

type Writing = Pick<LineTask, 'redact' | 'patterns' | 'maxBytes'>;

/** The log of a process that logs something. */
export class RunningLog {
  readonly #spool: ContentSpool;
  readonly #metrics: ContentMetrics;
  readonly #report: ContentLogOptions['report'];
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #lines = new Set<Promise<void>>();
  #waitingBytes = 0;
  readonly #thread = createTaskThread<LineTask, string>({
    module: new URL('./line-task.ts', import.meta.url),
    timeLimitMs: 20_000,
    maxHeapMb: 1024,
    idleMs: 60_000,
    onTooMuch: () =>
      new GatewayError('request_too_large', 'It takes too long to be written to the content log.'),
  });

  constructor({ dataDir, openStores, now, createMetrics, report, spool }: ContentLogOptions) {
    this.#now = now;
    this.#report = report;
    this.#spool = createContentSpool({
      folder: join(dataDir, CONTENT_SPOOL),
      openStores,
      now,
      ...SPOOL,
      ...spool,
      onLost: (reason, cause) => this.#lose(reason, cause),
      onProblem: (cause) => report({ reason: 'store', cause }),
    });
    this.#metrics = createMetrics(this.#spool);
    this.#timer = setInterval(() => void this.#spool.bring(), BRING_MS).unref();
  }

  begin(writing: Writing): LoggedContent {
    let line: PendingLine | null = null;
    let isOver = false;
    const begun = (): PendingLine => {
      line ??= this.#spool.begin();
      return line;
    };
    return {
      isLogged: true,
      get note() {
        return { contentObject: begun().object };
      },
      end: (content) => {
        if (isOver) return;
        isOver = true;
        const written = this.#write(begun(), writing, content).finally(() => this.#lines.delete(written));
        this.#lines.add(written);
      },
      cancel: () => {
        if (!isOver) line?.cancel();
        isOver = true;
      },
    };
  }

  async #write(line: PendingLine, writing: Writing, { facts, ...sides }: EndedContent): Promise<void> {
    const bytes = bytesOf(sides.request) + bytesOf(sides.answer);
    if (this.#lines.size >= MAX_WAITING.lines || this.#waitingBytes + bytes > MAX_WAITING.bytes) {
      line.cancel();
      return this.#lose('busy');
    }
    this.#waitingBytes += bytes;
    try {
      const at = new Date(this.#now()).toISOString();
      const { redact, patterns, maxBytes } = writing;
      const task = { facts: { ...facts, at }, ...sides, redact, patterns, maxBytes };
      const text = await this.#thread.run(task, { owner: facts.keyId });
      if (await line.write(text)) this.#metrics.written();
    } catch (cause) {
      line.cancel();
      this.#lose('unwritable', cause);
    } finally {
      this.#waitingBytes -= bytes;
    }
  }

  #lose(reason: LossReason, cause?: unknown): void {
    this.#metrics.lost(reason);
    this.#report({ reason, cause });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#lines.size > 0) await Promise.all(this.#lines);
    await this.#spool.bring(true);
  }
}
