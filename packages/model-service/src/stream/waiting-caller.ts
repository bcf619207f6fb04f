import type { OutgoingHttpHeaders } from 'node:http';
import { COMMENT_FRAME } from '@gateway/contracts/event-stream/sse-frames';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { toGatewayError, withoutRetry } from '@gateway/service-kit/error-response';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Caller } from '../caller.ts';

/** A caller whose stream waits for its first output. */
export interface WaitingCaller {
  /** From now on silence is broken. */
  begin(): void;
  /** Something was written meanwhile: silence counts from now on. */
  spoke(): void;
  /** Ends the wait: the stream begins, or will not. */
  end(): void;
  /** Ends the stream with an error if its head has been sent: an HTTP error cannot be written then. */
  fail(thrown: unknown): boolean;
}

interface WaitingOptions {
  readonly caller: Caller;
  readonly context: RequestContext;
  /** Silence after which `frame` is sent; 0 for never. */
  readonly keepAliveMs: number;
  /** What breaks the silence. Absent: a comment. */
  readonly frame?: string;
  /** The head of the stream. It names no channel, since another one may still answer. */
  readonly head: () => OutgoingHttpHeaders;
  /** The frames that end a stream of the caller's protocol with an error. */
  readonly errorFrames: (error: GatewayError) => readonly string[];
  /** Whether nothing has been written, or whole events; absent: nothing is written before `end`. */
  readonly mayInterrupt?: () => boolean;
}

/**
 * Keeps the connection of a streaming caller alive until its stream writes by itself: a proxy in between may break off one that
 * is silent. Once the head is sent, failures are events of the stream; until the first output another channel can still answer.
 */
export function createWaitingCaller(options: WaitingOptions): WaitingCaller {
  const { caller, context, keepAliveMs, head, errorFrames } = options;
  const { frame = COMMENT_FRAME, mayInterrupt = () => true } = options;
  let timer: NodeJS.Timeout | undefined;

  const end = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const breakSilence = () => {
    if (caller.isGone || caller.hasEnded) return end();
    if (caller.isFull || !mayInterrupt()) return;
    if (!caller.hasBegun) caller.begin(200, head());
    caller.send([frame]);
  };

  return {
    begin: () => {
      if (keepAliveMs > 0) timer ??= setInterval(breakSilence, keepAliveMs);
    },
    spoke: () => void timer?.refresh(),
    end,
    fail: (thrown) => {
      end();
      if (!caller.hasBegun) return false;
      if (caller.hasEnded) return true;
      const error = context.mayBePaid ? withoutRetry(toGatewayError(thrown)) : toGatewayError(thrown);
      context.failure ??= error;
      if (!caller.isGone) caller.end(errorFrames(error));
      return true;
    },
  };
}
