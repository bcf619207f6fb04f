import type { ServerResponse } from 'node:http';
import { endedRequest } from '@gateway/service-kit/ended-request';
import type { RequestContext } from '@gateway/service-kit/request-context';
import { writeError } from '@gateway/service-kit/write-error';
import type { Reply } from '@gateway/upstream/reply';

export interface RelayOptions {
  readonly reply: Reply;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly headers: Readonly<Record<string, string>>;
  /** Told of an event stream's last event. */
  readonly onDone: (event: string) => void;
}

/**
 * Passes the upstream's audio on as it comes, no faster than the caller takes it. Nothing is said before the first byte;
 * after it a broken upstream breaks the connection off, so that half a recording is not taken for a whole one.
 * Resolves when the reply is over, however it ended.
 */
export function relayAudio({ reply, response, context, headers }: RelayOptions): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', resolve);
    response.on('drain', () => reply.resume());
    reply.consume({
      onChunk: (chunk) => {
        if (response.destroyed) return true;
        if (!response.headersSent) response.writeHead(200, headers);
        return response.write(chunk);
      },
      onEnd: () => response.end(),
      onError: (error) => {
        // A caller who has left is no failure of the upstream's.
        if (!response.destroyed) writeError(response, endedRequest(context) ?? error, context);
      },
    });
  });
}
