import { GatewayError } from '@gateway/contracts/gateway-error';
import { UsageResult } from '@gateway/contracts/usage/usage-record';
import { createEventLog, type EventLog, type LogPage } from '@gateway/jobs/events/event-log';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type JsonObject, parseObject } from '../wire/json-object.ts';

/** A response that the gateway generates in the background, as everybody sees it. */
export const BackgroundStatus = z.enum([
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
]);
export type BackgroundStatus = z.infer<typeof BackgroundStatus>;

const Ending = z.object({
  /** Absent where it was never begun. */
  usage: UsageResult.optional(),
  /** Headers that name the channel that answered, and what it left out. */
  headers: z.record(z.string(), z.string()).default({}),
});
export type Ending = z.infer<typeof Ending>;

export interface BackgroundResponse {
  /** Whose it is, as in the conversation store. */
  readonly owner: string;
  readonly status: BackgroundStatus;
  /** The response object, with this status; null where it has ended and the conversation store has it. */
  readonly response: JsonObject | null;
  /** The conversation store has a record of it. */
  readonly isKept: boolean;
  /** It was created with `stream: true`, so that its events can be read. */
  readonly keepsEvents: boolean;
  /** Null while it has not ended. */
  readonly ending: Ending | null;
}

/** One event of its stream. Its number follows from its position in the log. */
export interface LoggedEvent {
  readonly type: string;
  /** The other members, `sequence_number` not among them. */
  readonly rest: JsonObject;
}

/** Kept in Redis, so that every replica sees the same. All methods throw what Redis throws. */
export interface BackgroundResponses {
  create(id: string, made: NewBackgroundResponse): Promise<void>;
  find(id: string): Promise<BackgroundResponse | null>;
  /** True for the one worker that may call a provider for it. */
  begin(id: string): Promise<boolean>;
  /** False where it has ended: nothing is appended any more. */
  append(id: string, events: readonly LoggedEvent[]): Promise<boolean>;
  /** True for the one process that ends it. Its last events are appended in the same step. */
  end(id: string, final: FinalState): Promise<boolean>;
  /** Its events, as `framesOf` shows them. Followed by `followLog`. */
  readonly log: Pick<EventLog, 'read' | 'channelOf'>;
  /** Whether its events are still kept. */
  hasEvents(id: string): Promise<boolean>;
  remove(id: string): Promise<void>;
}

export interface NewBackgroundResponse extends Pick<BackgroundResponse, 'owner' | 'isKept' | 'keepsEvents'> {
  readonly response: JsonObject;
}

export interface FinalState extends Ending {
  readonly status: BackgroundStatus;
  /** `kept`: the conversation store has it; null: as it was, but for its status. */
  readonly response: JsonObject | 'kept' | null;
  readonly events: readonly LoggedEvent[];
}

/** No answer is as long; the rest of a longer one is read as a whole. */
const MAX_LOG_BYTES = 32 * 1024 * 1024;
/** Until one that nobody ends is forgotten: longer than any job waits and runs. */
const UNENDED_SECONDS = 3 * 86_400;

const responseKey = (id: string): string => `gateway:{background}:response:${id}`;
export const eventsKey = (id: string): string => `gateway:{background}:events:${id}`;

const BEGIN = readScript(new URL('./begin-response.lua', import.meta.url));

interface BackgroundResponsesOptions {
  readonly redis: Redis;
  /** How long it can be read after its end, in seconds, where the conversation store has it. */
  readonly ttlSeconds: number;
  /** How long its events can, and a response that is not stored. */
  readonly eventsTtlSeconds: number;
  /** How many bytes of events are stored of each. */
  readonly maxLogBytes?: number;
}

export function createBackgroundResponses(options: BackgroundResponsesOptions): BackgroundResponses {
  const { redis, ttlSeconds, eventsTtlSeconds, maxLogBytes = MAX_LOG_BYTES } = options;
  const begin = defineScript(redis, 'gatewayBeginResponse', BEGIN, z.number());
  const log = createEventLog({
    redis,
    keysOf: (id) => ({ head: responseKey(id), entries: eventsKey(id) }),
    names: ['type', 'rest'],
    maxBytes: maxLogBytes,
    beyond: 'full',
    begins: false,
    unendedSeconds: UNENDED_SECONDS,
  });

  return {
    create: async (id, { owner, response, isKept, keepsEvents }) => {
      const key = responseKey(id);
      const fields = {
        owner,
        status: 'queued',
        response: JSON.stringify(response),
        isKept: isKept ? 1 : 0,
        keepsEvents: keepsEvents ? 1 : 0,
        // Its log takes nothing.
        ...(!keepsEvents && { full: 1 }),
      };
      await redis.multi().hset(key, fields).expire(key, UNENDED_SECONDS).exec();
    },
    find: async (id) => {
      const { owner, status, response, isKept, keepsEvents, ending } = await redis.hgetall(responseKey(id));
      if (owner === undefined) return null;
      const known = BackgroundStatus.parse(status);
      return {
        owner,
        status: known,
        response: response === undefined ? null : { ...parseObject(response), status: known },
        isKept: isKept === '1',
        keepsEvents: keepsEvents === '1',
        ending: ending === undefined ? null : Ending.parse(JSON.parse(ending)),
      };
    },
    begin: async (id) => (await begin([responseKey(id)])) === 1,
    append: (id, events) => log.append(id, events.map(entryOf)),
    end: (id, { status, response, events, usage, headers }) => {
      const isElsewhere = response === 'kept';
      const shown = isElsewhere ? '' : JSON.stringify(response);
      return log.end(id, {
        entries: events.map(entryOf),
        fields: {
          status,
          ending: JSON.stringify({ usage, headers }),
          ...(response !== null && { response: shown }),
        },
        // What the conversation store does not count and bound is not there for long.
        headSeconds: isElsewhere ? ttlSeconds : eventsTtlSeconds,
        seconds: eventsTtlSeconds,
      });
    },
    log,
    hasEvents: async (id) => (await redis.exists(eventsKey(id))) === 1,
    remove: log.remove,
  };
}

export const isFinal = (status: BackgroundStatus): boolean => status !== 'queued' && status !== 'in_progress';

const entryOf = ({ type, rest }: LoggedEvent): readonly string[] => [type, JSON.stringify(rest)];

/** Events as they go out, numbered. The members are JSON already and are not parsed again. */
export const framesOf = ({ entries }: Pick<LogPage, 'entries'>): string[] =>
  entries.map(({ number, values: [type = '', rest = '{}'] }) => {
    const members = rest === '{}' ? '}' : `,${rest.slice(1)}`;
    return `event: ${type}\ndata: {"type":${JSON.stringify(type)},"sequence_number":${number}${members}\n\n`;
  });

/** For a request that needs them while Redis is away. */
export const unavailable = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'Background responses cannot be reached at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
