import type { RecordedRequest } from '../requests/recorded-request.ts';
import type { RequestPredicate } from '../requests/request-log.ts';
import type { Directives } from './directives.ts';

/** How raw bytes are cut into writes: as one, an event each, byte by byte, or at these offsets. */
export type Cuts = 'whole' | 'events' | 'bytes' | readonly number[];

/**
 * One reply that a test scripts for one request. With `json`, `body` or `sse` it replaces the reply; without, the
 * ordinary answer is given. The directives (faults, pace, tokens) apply to either.
 */
export interface ScriptedReply extends Directives {
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  /** Raw bytes of an event stream, such as `recordedStream('responses-text')`. */
  readonly sse?: string | Uint8Array;
  /** Default: `events` for `sse`, `whole` for `body`. */
  readonly cuts?: Cuts;
  /** Ordinary answer of a text model, with this text instead of the echo. */
  readonly text?: string;
  /** The status line waits for this. */
  readonly gate?: Promise<void>;
  /** A `stallAfter` ends when this resolves, and the reply goes on. */
  readonly resume?: Promise<void>;
}

/** A path (`/v1/messages`), or any test of the request. */
export type Matcher = string | RequestPredicate;

interface Entry {
  readonly matches: RequestPredicate;
  readonly reply: ScriptedReply;
}

export interface ScriptQueue {
  add(matcher: Matcher | undefined, reply: ScriptedReply): void;
  /** The oldest unused reply that matches, which is then used. */
  take(request: RecordedRequest): ScriptedReply | undefined;
  readonly waiting: number;
  clear(): void;
}

const toPredicate = (matcher: Matcher | undefined): RequestPredicate => {
  if (matcher === undefined) return () => true;
  return typeof matcher === 'string' ? (request) => request.path === matcher : matcher;
};

export const createScriptQueue = (): ScriptQueue => {
  const entries: Entry[] = [];
  return {
    add: (matcher, reply) => {
      entries.push({ matches: toPredicate(matcher), reply });
    },
    take: (request) => {
      if (entries.length === 0) return undefined;
      const index = entries.findIndex(({ matches }) => matches(request));
      return index < 0 ? undefined : entries.splice(index, 1)[0]?.reply;
    },
    get waiting() {
      return entries.length;
    },
    clear: () => {
      entries.length = 0;
    },
  };
};
