import type { OutgoingHttpHeaders } from 'node:http';
import { COMMENT_FRAME, DONE_FRAME, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { EventFeed } from '@gateway/jobs/events/event-feed';
import type { LogPage } from '@gateway/jobs/events/event-log';
import { followLog } from '@gateway/jobs/events/follow-log';
import type { Caller } from '@gateway/model-service/caller';
import { CallerLeft, endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import { type BackgroundResponses, framesOf, unavailable } from './background-responses.ts';

interface FollowOptions {
  readonly responses: Pick<BackgroundResponses, 'log'>;
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

/**
 * Writes the events of a background response to a caller: those that are there, then each as it comes, until its end.
 * A caller who leaves ends nothing but this.
 *
 * @throws {GatewayError} `service_unavailable`, as long as nothing has been written
 */
export async function followResponse(options: FollowOptions): Promise<void> {
  const { responses, feed, id, after, caller, context, headers, keepAliveMs, beforeEnd } = options;
  const { signal } = context;
  const keepAlive = keepAliveMs > 0 ? setInterval(() => showAlive(caller), keepAliveMs) : undefined;
  try {
    for await (const page of followLog({ log: responses.log, feed, id, after, signal })) {
      if (signal.aborted) break;
      caller.begin(200, headers, true);
      if (page.rest !== 'more') await beforeEnd?.();
      await write(caller, framesOf(page), signal);
      if (page.rest !== 'more') return void caller.end(lastFrames(page));
    }
  } catch (error) {
    if (!signal.aborted) throw caller.hasBegun ? error : unavailable(error);
  } finally {
    clearInterval(keepAlive);
  }
  if (signal.reason instanceof CallerLeft) return;
  // The caller goes on at another replica; the response itself is not touched.
  context.failure = endedRequest(context);
  caller.breakOff();
}

async function write(caller: Caller, frames: string[], signal: AbortSignal): Promise<void> {
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
function lastFrames({ rest, last }: LogPage): readonly string[] {
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
