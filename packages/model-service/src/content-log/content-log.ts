import type { IncomingHttpHeaders } from 'node:http';
import type { ContentOmission } from '@gateway/contracts/content-log';
import type { Identity } from '@gateway/contracts/identity';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { chooseContent } from './choose-content.ts';
import type { ContentMetrics, LossReason } from './content-metrics.ts';
import type { ContentSide } from './content-side.ts';
import type { ContentSpool, ContentSpoolOptions } from './content-spool.ts';
import type { ContentStores } from './content-store.ts';
import type { ContentFacts, LineTask } from './line-task.ts';
import type { RunningLog } from './running-log.ts';

/** What of one request is in the content log, for its usage record. */
export type ContentNote = Pick<UsageDetail, 'contentObject' | 'contentOmitted'>;

interface BeginningRequest {
  readonly identity: Pick<Identity, 'keyId' | 'team'>;
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
   * Null: no rule applies to it. What writes the log is loaded with the first request to which one does.
   *
   * @throws {GatewayError} where its caller wants it not to be logged and may not choose
   */
  begin(request: BeginningRequest): Promise<LoggedContent> | null;
  /** Deletes objects that are older than they may be. Resolves to how many those were. */
  sweep(): Promise<number>;
  /** Writes what is under way, and brings away what waits. */
  close(): Promise<void>;
}

export interface ContentLogOptions {
  readonly configuration: () => Pick<Configuration, 'contentLog' | 'conversations'>;
  readonly dataDir: string;
  readonly openStores: () => Promise<ContentStores>;
  readonly now: () => number;
  /** Called when there is something to count. */
  readonly createMetrics: (spool: Pick<ContentSpool, 'sizeBytes'>) => ContentMetrics;
  /** A problem for the log. */
  readonly report: (problem: ContentProblem) => void;
  readonly spool?: Partial<Pick<ContentSpoolOptions, 'maxBytes' | 'fileBytes' | 'fileMs'>>;
}

/** Nothing is opened before the first request to which a rule applies. */
export function createContentLog(options: ContentLogOptions): ContentLog {
  const { configuration, openStores, now } = options;
  let running: Promise<RunningLog> | null = null;
  const run = async () => {
    const { RunningLog } = await import('./running-log.ts');
    return new RunningLog(options);
  };
  return {
    begin: (request) => {
      const current = configuration();
      const { contentLog } = current;
      if (contentLog === null) return null;
      const { identity, model, headers, requestId: id } = request;
      const choice = chooseContent(current, { identity, model, headers, id });
      if (choice === null) return null;
      if ('omitted' in choice) return Promise.resolve(omitted(choice.omitted));
      running ??= run();
      const writing = { ...contentLog, redact: choice.rule.redact };
      return running.then((log) => log.begin(writing));
    },
    sweep: async () => {
      const { contentLog } = configuration();
      if (contentLog === null) return 0;
      const { sweepContent } = await import('./sweep-content.ts');
      return sweepContent(await openStores(), now() - contentLog.retentionMs);
    },
    close: async () => {
      await (await running)?.close();
    },
  };
}

const omitted = (why: ContentOmission): LoggedContent => ({
  isLogged: false,
  note: { contentOmitted: why },
  end: () => undefined,
  cancel: () => undefined,
});
