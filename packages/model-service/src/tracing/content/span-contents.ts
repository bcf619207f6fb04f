import type { IncomingHttpHeaders } from 'node:http';
import { CONTENT_LOG_HEADER, REDACTIONS } from '@gateway/contracts/content-log';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { ContentPlace, SpanAttributes } from '@gateway/contracts/trace/request-trace';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { isNeverKept, ruleFor } from '../../content-log/choose-content.ts';
import type { Redacting } from '../../content-log/clean/redactor.ts';
import { bytesOf } from '../../content-log/content-side.ts';
import type { ContentTask } from './content-task.ts';

type Gathered = Pick<ContentTask, 'request' | 'answer' | 'isOverlong'>;

/** The content of one request, for its span. Only the first `end` or `cancel` counts. */
export interface SpanContentWriter {
  /** Null: there is none. Resolves when it has ended. */
  readonly attributes: Promise<SpanAttributes | null>;
  end(gathered: Gathered): void;
  cancel(): void;
}

/** What requests ask and are answered, for spans: only where the operator has asked for it. */
export interface SpanContents {
  readonly places: readonly ContentPlace[];
  /** Null: nothing of this request may be kept. */
  begin(request: {
    readonly identity: Pick<Identity, 'keyId' | 'team'>;
    readonly model: string;
    readonly headers: IncomingHttpHeaders;
  }): SpanContentWriter | null;
  /** Resolves when all that has ended is written. */
  close(): Promise<void>;
}

/** Of each attribute: readers cut what is much longer. */
const MAX_CHARACTERS = 65_536;
/** What waits for the thread at most: the spans beyond it have no content, and say so. */
const MAX_WAITING = { spans: 500, bytes: 128 * 1024 ** 2 };

const dropped = (why: 'busy' | 'unwritable'): SpanAttributes => ({ 'gateway.content.dropped': why });

/** @param configuration the present one: its content log says what is redacted, and who is never kept */
export function createSpanContents(
  configuration: () => Pick<Configuration, 'contentLog' | 'conversations'>,
  places: readonly ContentPlace[],
  maxWaiting = MAX_WAITING,
): SpanContents {
  const writing = new Set<Promise<unknown>>();
  let waitingBytes = 0;
  const thread = createTaskThread<ContentTask, SpanAttributes>({
    module: new URL('./content-task.ts', import.meta.url),
    timeLimitMs: 20_000,
    maxHeapMb: 1024,
    idleMs: 60_000,
    onTooMuch: () => new GatewayError('request_too_large', 'It takes too long to be written to its span.'),
  });
  const written = (task: ContentTask, owner: string): Promise<SpanAttributes> => {
    const bytes = bytesOf(task.request) + bytesOf(task.answer);
    if (writing.size >= maxWaiting.spans || waitingBytes + bytes > maxWaiting.bytes)
      return Promise.resolve(dropped('busy'));
    waitingBytes += bytes;
    const work = thread
      .run(task, { owner })
      .catch(() => dropped('unwritable'))
      .finally(() => {
        writing.delete(work);
        waitingBytes -= bytes;
      });
    writing.add(work);
    return work;
  };
  return {
    places,
    begin: ({ identity, model, headers }) => {
      const { contentLog, conversations } = configuration();
      const subject = { identity, model };
      if (headers[CONTENT_LOG_HEADER] !== undefined || isNeverKept(conversations, subject)) return null;
      const rule = contentLog === null ? undefined : ruleFor(contentLog, subject);
      const redacting: Redacting = {
        patterns: contentLog?.patterns ?? {},
        redact: rule?.redact ?? [...REDACTIONS, ...Object.keys(contentLog?.patterns ?? {})],
      };
      const maxCharacters = Math.min(MAX_CHARACTERS, contentLog?.maxBytes ?? MAX_CHARACTERS);
      const { promise: attributes, resolve } = Promise.withResolvers<SpanAttributes | null>();
      return {
        attributes,
        end: (gathered) => resolve(written({ ...gathered, ...redacting, maxCharacters }, identity.keyId)),
        cancel: () => resolve(null),
      };
    },
    close: async () => {
      while (writing.size > 0) await Promise.all(writing);
    },
  };
}
