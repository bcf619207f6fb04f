import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  READINESS_CHANGES_PATH,
  READINESS_INTERVAL_MS,
  type ReadinessStatus,
} from '@gateway/contracts/readiness';

export interface StandInService {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** The requests that it got, in order, without those for its readiness. */
  readonly requests: IncomingMessage[];
  /** From now on it reports this readiness to edges; null: it hangs, and reports nothing. Until then it has no reports. */
  report(status: ReadinessStatus | null): void;
  /** How many edges follow its reports. */
  readonly watchers: number;
  /** Sets its answer. */
  reply(listener: RequestListener): void;
  close(): Promise<void>;
}

/** A service for the edge, scripted by a test. It answers `{"ok":true}` until the test sets another answer. */
export async function startStandInService({ port = 0 }: { port?: number } = {}): Promise<StandInService> {
  const requests: IncomingMessage[] = [];
  let listener: RequestListener = answerOk;
  let reported: ReadinessStatus | null | undefined;
  const watchers = new Set<ServerResponse>();
  const notify = () => {
    if (reported === undefined || reported === null) return;
    for (const response of watchers) response.write(`${JSON.stringify({ status: reported, missing: [] })}\n`);
  };
  const watch = (response: ServerResponse) => {
    if (reported === undefined) return void response.writeHead(404).end();
    watchers.add(response);
    response.once('close', () => watchers.delete(response));
    notify();
  };
  const reporting = setInterval(notify, READINESS_INTERVAL_MS);
  const server = createServer({ maxHeaderSize: 48 * 1024 }, (request, response) => {
    if (request.url === READINESS_CHANGES_PATH) return watch(response);
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    server,
    requests,
    report: (status) => {
      reported = status;
      notify();
    },
    get watchers() {
      return watchers.size;
    },
    reply: (next) => {
      listener = next;
    },
    close: () =>
      new Promise((resolve) => {
        clearInterval(reporting);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const answerOk: RequestListener = (request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
};
