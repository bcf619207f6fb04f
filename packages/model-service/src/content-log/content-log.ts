import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { AssetStore } from '@gateway/assets/asset-store';
import type { ContentOmission } from '@gateway/contracts/content-log';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { chooseContent } from './choose-content.ts';
import type { ContentMetrics, LossReason } from './content-metrics.ts';
import type { ContentSide } from './content-side.ts';
import { CONTENT_SPOOL, type ContentSpool, createContentSpool, type PendingLine } from './content-spool.ts';
import type { ContentFacts, LineTask } from './line-task.ts';

/** What of one request is in the content log, for its usage record. */
export type ContentNote = Pick<UsageDetail, 'contentObject' | 'contentOmitted'>;

interface BeginningRequest {
  readonly identity: Identity;
  readonly model: string;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
}

export interface ContentProblem {
  /** `store`: nothing is lost yet. Otherwise why the content of a request is. */
  readonly reason: LossReason | 'store';
  readonly cause?: unknown;
}

export interface EndedContent {
  readonly facts: Omit<ContentFacts, 'at'>;
  readonly request: ContentSide;
  readonly answer: ContentSide;
  readonly overlong: LineTask['overlong'];
}

/** A request to which a rule applies. */
export interface LoggedContent {
  /** False: nothing of it is gathered. */
  readonly isLogged: boolean;
  readonly note: ContentNote;
  /** The request has ended, and its caller knows. Only the first `end` or `cancel` counts. */
  end(content: EndedContent): void;
  /** The request was not let in. */
  cancel(): void;
}

/** Logs what requests ask and are answered, by the rules of the present configuration. */
export interface ContentLog {
  /**
   * Null: no rule applies to it.
   *
   * @throws {GatewayError} where its caller wants it not to be logged and may not choose
   */
  begin(request: BeginningRequest): LoggedContent | null;
  /** Deletes objects that are older than they may be. Resolves to how many those were. */
  sweep(): Promise<number>;
  /** Writes what is under way, and brings away what waits. */
  close(): Promise<void>;
}

export interface ContentLogOptions {
  readonly configuration: () => Pick<Configuration, 'contentLog' | 'conversations'>;
  readonly dataDir: string;
  readonly openStore: () => Promise<Pick<AssetStore, 'put' | 'sweep'>>;
  readonly now: () => number;
  /** Called when there is something to count. */
  readonly createMetrics: (spool: Pick<ContentSpool, 'sizeBytes'>) => ContentMetrics;
  /** A problem for the log. */
  readonly report: (problem: ContentProblem) => void;
  readonly spool?: Partial<typeof SPOOL>;
}

const MEBIBYTE = 1024 ** 2;
const SPOOL = { maxBytes: 1024 * MEBIBYTE, fileBytes: 8 * MEBIBYTE, fileMs: 30_000 };
const BRING_MS = 5_000;
/** What waits for the thread at most: a request beyond it is lost to the log. */
const MAX_WAITING = { lines: 2000, bytes: 128 * MEBIBYTE };

/** Nothing is opened before the first request to which a rule applies. */
export function createContentLog(options: ContentLogOptions): ContentLog {
  const { configuration, openStore, now } = options;
  let running: RunningLog | null = null;
  return {
    begin: (request) => {
      const current = configuration();
      const { contentLog } = current;
      if (contentLog === null) return null;
      const { identity, model, headers, requestId: id } = request;
      const choice = chooseContent(current, { identity, model, headers, id });
      if (choice === null) return null;
      if ('omitted' in choice) return omitted(choice.omitted);
      running ??= new RunningLog(options);
      return running.begin({ ...contentLog, redact: choice.rule.redact });
    },
    sweep: async () => {
      const { contentLog } = configuration();
      if (contentLog === null) return 0;
      return (await openStore()).sweep(now() - contentLog.retentionMs);
    },
    close: async () => {
      await running?.close();
    },
  };
}

const omitted = (why: ContentOmission): LoggedContent => ({
  isLogged: false,
  note: { contentOmitted: why },
  end: () => undefined,
  cancel: () => undefined,
});

type Writing = Pick<LineTask, 'redact' | 'patterns' | 'maxBytes'>;

/** The log of a process that logs something. */
class RunningLog {
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

  constructor({ dataDir, openStore, now, createMetrics, report, spool }: ContentLogOptions) {
    this.#now = now;
    this.#report = report;
    this.#spool = createContentSpool({
      folder: join(dataDir, CONTENT_SPOOL),
      openStore,
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

const bytesOf = (side: ContentSide): number => (side !== null && 'json' in side ? side.json.byteLength : 0);
