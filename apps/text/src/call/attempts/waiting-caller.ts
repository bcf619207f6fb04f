import { toGatewayError } from '@gateway/service-kit/error-response';
import { PROTOCOLS } from '../../conversion/protocols.ts';
import { COMMENT_FRAME } from '../../wire/stream/sse-frames.ts';
import type { TextCall } from '../request/text-call.ts';
import { eventStreamHead } from './reply-head.ts';

/** A caller whose stream waits for the first output of any channel. */
export interface WaitingCaller {
  /** A provider has begun its stream without output: from now on the caller gets keep-alive comments. */
  begin(): void;
  /** Ends the wait: a reply is there, or none will come. */
  end(): void;
  /** Ends the stream with an error if a comment has been sent. Then an HTTP error cannot be written any more. */
  fail(thrown: unknown): void;
}

/**
 * Keeps the connection of a streaming caller alive while start events are held back. The head names no channel then, because
 * another channel may still answer.
 */
export function createWaitingCaller({
  request,
  endpoint,
  services,
  context,
  response,
}: TextCall): WaitingCaller {
  const { keepAliveMs } = services;
  const { requestId } = context;
  let timer: NodeJS.Timeout | undefined;
  let hasSpoken = false;

  const breakSilence = () => {
    if (response.destroyed || response.writableNeedDrain) return;
    if (!response.headersSent) response.writeHead(200, eventStreamHead(context));
    hasSpoken = true;
    response.write(COMMENT_FRAME);
  };

  return {
    begin: () => {
      if (request.streamed && keepAliveMs > 0) timer ??= setInterval(breakSilence, keepAliveMs);
    },
    end: () => {
      clearInterval(timer);
      timer = undefined;
    },
    fail: (thrown) => {
      if (!hasSpoken || response.writableEnded) return;
      const error = toGatewayError(thrown);
      context.failure ??= error;
      response.end(
        PROTOCOLS[endpoint.protocol].createStreamReader({ hidesUsage: false }).breakOff(error, requestId),
      );
    },
  };
}
