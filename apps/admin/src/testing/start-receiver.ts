import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

export type Answer = (response: ServerResponse) => void;

export interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What Slack's incoming webhooks answer, and Microsoft's workflows. */
export const SLACK_OK: Answer = (response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('ok');
export const TEAMS_OK: Answer = (response) => response.writeHead(202).end();

const Body = z.record(z.string(), z.unknown());

/** A server that alerts are sent to, with prepared answers: each request gets the next one, later ones the last. */
export async function startReceiver(...answers: Answer[]) {
  const received: ReceivedMessage[] = [];
  const server = createServer((request, response) => {
    text(request).then(
      (sent) => {
        received.push({ headers: request.headers, text: sent, body: Body.parse(JSON.parse(sent)) });
        answers[Math.min(received.length, answers.length) - 1]?.(response);
      },
      () => undefined,
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return {
    url: `http://127.0.0.1:${address.port}/services/T000/B000/a-secret-path`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
