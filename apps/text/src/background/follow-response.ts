import type { OutgoingHttpHeaders } from 'node:http';
import { COMMENT_FRAME, DONE_FRAME, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { Caller } from '@gateway/model-service/caller';
import { CallerLeft, endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import { type BackgroundResponses, type EventPage, unavailable } from './background-responses.ts';
import type { EventFeed } from './event-feed.ts';

interface FollowOptions {
  readonly responses: Pick<BackgroundResponses, 'eventsAfter'>;
  readonly feed: EventFeed;
  readonly id: string;
  /** The number of the last event that the caller has. */
  readonly after: number;
  readonly caller: Caller;
  readonly context: RequestContext;
  readonly headers: OutgoingHttpHeaders;
  readonly keepAliveMs: number;
  /** Called before the caller gets the last event. */
  readonly beforeEnd?: () => Promise<void>;
}

/** Until the next read after one that Redis did not answer. */
const RETRY_MS = 1000;

/**
 * Writes the events of a background response to a caller: those that are there, then each as it comes, until its end.
 * A caller who leaves ends nothing but this.
 *
 * @throws {GatewayError} `service_unavailable`, as long as nothing has been written
 */
export async function followResponse(options: FollowOptions): Promise<void> {
  const { responses, feed, id, caller, context, headers, keepAliveMs, beforeEnd } = options;
  const wakeUp = createWakeUp();
  const leave = await feed.watch(id, wakeUp.wake).catch(rethrow);
  context.signal.addEventListener('abort', wakeUp.wake);
  const keepAlive = keepAliveMs > 0 ? setInterval(() => showAlive(caller), keepAliveMs) : undefined;
  let after = options.after;
  try {
    while (!context.signal.aborted) {
      const page = await responses.eventsAfter(id, after).catch((error: unknown) => {
        if (!caller.hasBegun) throw unavailable(error);
        setTimeout(wakeUp.wake, RETRY_MS).unref();
        return null;
      });
      if (page !== null) {
        caller.begin(200, headers, true);
        if (page.rest !== 'more') await beforeEnd?.();
        await write(caller, page, context.signal);
        after = page.last;
        if (page.rest !== 'more') return void caller.end(lastFrames(page));
        if (page.frames.length > 0) continue;
      }
      await wakeUp.next();
    }
    if (context.signal.reason instanceof CallerLeft) return;
    // The caller goes on at another replica; the response itself is not touched.
    context.failure = endedRequest(context);
    caller.breakOff();
  } finally {
    leave();
    clearInterval(keepAlive);
    context.signal.removeEventListener('abort', wakeUp.wake);
  }
}

const rethrow = (cause: unknown): never => {
  throw unavailable(cause);
};

async function write(caller: Caller, { frames }: EventPage, signal: AbortSignal): Promise<void> {
  if (frames.length === 0 || caller.send(frames) || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const goOn = () => {
      stop();
      signal.removeEventListener('abort', goOn);
      resolve();
    };
    const stop = caller.onTaken(goOn);
    signal.addEventListener('abort', goOn);
  });
}

function showAlive(caller: Caller): void {
  if (caller.hasBegun && !caller.isFull) caller.send([COMMENT_FRAME]);
}

/** A log that is full has no last event: the caller learns where the response is. */
function lastFrames({ rest, last }: EventPage): readonly string[] {
  if (rest !== 'full') return [DONE_FRAME];
  const code = 'server_error';
  const message =
    'The stream of this response is longer than what is stored. Read the response itself, without `stream`.';
  const error = { type: code, code, message, param: null };
  return [
    namedFrame({ type: 'error', sequence_number: last + 1, code, message, param: null, error }),
    DONE_FRAME,
  ];
}

/** Wakes one waiter. Being woken while nobody waits is remembered. */
function createWakeUp() {
  let isWoken = false;
  let resume: (() => void) | null = null;
  return {
    wake: () => {
      isWoken = true;
      resume?.();
    },
    next: async () => {
      if (!isWoken) {
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      }
      resume = null;
      isWoken = false;
    },
  };
}
