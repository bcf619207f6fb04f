import { GatewayError } from '@gateway/contracts/gateway-error';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { writeError } from '@gateway/service-kit/write-error';
import { errorFrame } from '../event-stream/error-frame.ts';
import { createEventReader } from '../event-stream/event-reader.ts';
import type { RelayOptions } from './relay-audio.ts';

/** The last event of a complete answer. */
const DONE = 'speech.audio.done';
/** How an upstream itself says that it broke. */
const ERROR_EVENT = /^event: ?error\b|^data: ?\{"(?:type": ?"error"|error":)/m;

/**
 * Passes the upstream's events on, whole ones only. A stream that breaks, or ends without its last event, ends with
 * an error event. Resolves when the reply is over, however it ended.
 */
export function relayEvents({ reply, response, context, headers, onDone }: RelayOptions): Promise<void> {
  let state: 'open' | 'done' | 'failed' = 'open';
  const reader = createEventReader((data) => {
    if (!data.includes(DONE)) return;
    state = 'done';
    onDone(data);
  });

  const send = (block: Buffer): boolean => {
    if (response.destroyed) return true;
    if (!response.headersSent) response.writeHead(200, headers);
    if (state === 'open' && block.includes('error') && ERROR_EVENT.test(block.toString())) {
      state = 'failed';
      context.failure = broken('The upstream ended its answer with an error.');
    }
    return response.write(block);
  };
  const fail = (thrown: unknown): void => {
    if (!response.headersSent) {
      writeError(response, thrown, context);
      return;
    }
    const error = toGatewayError(thrown);
    context.failure ??= error;
    response.end(state === 'failed' ? undefined : errorFrame(error));
    state = 'failed';
  };

  return new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', resolve);
    response.on('drain', () => reply.resume());
    reply.consume({
      onChunk: (chunk) => {
        try {
          const block = reader.push(chunk);
          return block === null || send(block);
        } catch (error) {
          fail(error);
          reply.cancel();
          return false;
        }
      },
      onEnd: () => {
        // A last frame without its blank line counts.
        const last = reader.rest().includes(DONE) ? reader.push(Buffer.from('\n\n')) : null;
        if (last) send(last);
        if (state === 'open') fail(broken('The upstream ended its answer too early.'));
        else response.end();
      },
      onError: (error) => {
        if (!response.destroyed && !response.writableEnded) fail(endedRequest(context) ?? error);
      },
    });
  });
}

const broken = (message: string) => new GatewayError('upstream_failed', { message, source: 'upstream' });
