import { readFileSync } from 'node:fs';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { UsageResult } from '@gateway/contracts/usage/usage-record';
import type { Redis, Result } from 'ioredis';
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

/** What a reader of the log gets. */
export interface EventPage {
  /** Whole frames, numbered. */
  readonly frames: readonly string[];
  /** The number of the last event in it, or the one that was read after. */
  readonly last: number;
  /** Nothing follows: `ended`; `full`: what follows is not kept; `gone`: the response is deleted or forgotten. */
  readonly rest: 'more' | 'ended' | 'full' | 'gone';
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
  /** The events with a number above this one, as far as they are there. */
  eventsAfter(id: string, number: number): Promise<EventPage>;
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

declare module 'ioredis' {
  interface RedisCommander<Context> {
    gatewayBeginResponse(keyCount: number, ...args: (string | number)[]): Result<number, Context>;
    gatewayAppendEvents(keyCount: number, ...args: (string | number)[]): Result<number, Context>;
    gatewayEndResponse(keyCount: number, ...args: (string | number)[]): Result<number, Context>;
  }
}

/** No answer is as long; the rest of a longer one is read as a whole. */
const MAX_LOG_BYTES = 32 * 1024 * 1024;
/** Until one that nobody ends is forgotten: longer than any job waits and runs. */
const UNENDED_SECONDS = 3 * 86_400;
/** Events that are read in one round trip. */
const PAGE = 200;

const responseKey = (id: string): string => `gateway:{background}:response:${id}`;
/** The log, and the channel on which a change of the response or its log is published. */
export const eventsKey = (id: string): string => `gateway:{background}:events:${id}`;

const script = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const BEGIN = script('./begin-response.lua');
const APPEND = script('./append-events.lua');
const END = script('./end-response.lua');

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
  redis.defineCommand('gatewayBeginResponse', { lua: BEGIN });
  redis.defineCommand('gatewayAppendEvents', { lua: APPEND });
  redis.defineCommand('gatewayEndResponse', { lua: END });

  return {
    create: async (id, { owner, response, isKept, keepsEvents }) => {
      const key = responseKey(id);
      const fields = {
        owner,
        status: 'queued',
        response: JSON.stringify(response),
        isKept: isKept ? 1 : 0,
        keepsEvents: keepsEvents ? 1 : 0,
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
    begin: async (id) => (await redis.gatewayBeginResponse(1, responseKey(id))) === 1,
    append: async (id, events) => {
      const args = events.flatMap(({ type, rest }) => [type, JSON.stringify(rest)]);
      const keys = [responseKey(id), eventsKey(id)];
      return (await redis.gatewayAppendEvents(2, ...keys, maxLogBytes, UNENDED_SECONDS, ...args)) === 1;
    },
    end: async (id, { status, response, events, usage, headers }) => {
      const keys = [responseKey(id), eventsKey(id)];
      const args = events.flatMap(({ type, rest }) => [type, JSON.stringify(rest)]);
      const whole = response === null ? '' : response === 'kept' ? response : JSON.stringify(response);
      const ending = JSON.stringify({ usage, headers });
      // What the conversation store does not count and bound is not there for long.
      const stored = [response === 'kept' ? ttlSeconds : eventsTtlSeconds, eventsTtlSeconds];
      return (await redis.gatewayEndResponse(2, ...keys, status, whole, ending, ...stored, ...args)) === 1;
    },
    eventsAfter: async (id, number) => {
      // The status first: of a response that has ended by then, every event is in the log.
      const [status, full] = await redis.hmget(responseKey(id), 'status', 'full');
      const entries = await redis.xrange(eventsKey(id), `(${number + 1}-0`, '+', 'COUNT', PAGE);
      const numbered = entries.map(([entry, [, type = '', , rest = '']]) => ({
        number: Number.parseInt(entry, 10) - 1,
        type,
        rest,
      }));
      const isLast = numbered.length < PAGE;
      return {
        frames: numbered.map(frameOf),
        last: numbered.at(-1)?.number ?? number,
        rest: isLast ? restOf(status ?? null, full ?? null) : 'more',
      };
    },
    hasEvents: async (id) => (await redis.exists(eventsKey(id))) === 1,
    remove: async (id) => {
      await redis.multi().del(responseKey(id), eventsKey(id)).publish(eventsKey(id), '').exec();
    },
  };
}

function restOf(status: string | null, full: string | null): EventPage['rest'] {
  if (status === null) return 'gone';
  if (full !== null) return 'full';
  return isFinal(BackgroundStatus.parse(status)) ? 'ended' : 'more';
}

export const isFinal = (status: BackgroundStatus): boolean => status !== 'queued' && status !== 'in_progress';

/** An event as it goes out. The members are JSON already and are not parsed again. */
function frameOf({ number, type, rest }: { number: number; type: string; rest: string }): string {
  const members = rest === '{}' ? '}' : `,${rest.slice(1)}`;
  return `event: ${type}\ndata: {"type":${JSON.stringify(type)},"sequence_number":${number}${members}\n\n`;
}

/** For a request that needs them while Redis is away. */
export const unavailable = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'Background responses cannot be reached at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
