import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

/** One webhook, as it came. */
export interface ReceivedWebhook {
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface WebhookReceiver {
  readonly url: string;
  /** What has come to this path, the oldest first. */
  received(path: string): readonly ReceivedWebhook[];
  close(): void;
}

/** Takes every webhook, and remembers it. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const byPath = new Map<string, ReceivedWebhook[]>();
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => null);
    if (body === null) return;
    const { url: path = '/' } = request;
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
    byPath.set(path, [...(byPath.get(path) ?? []), { headers: Object.fromEntries(headers), body }]);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    received: (path) => byPath.get(path) ?? [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
