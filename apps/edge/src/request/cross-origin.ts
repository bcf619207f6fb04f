import type { IncomingMessage, ServerResponse } from 'node:http';

export interface CrossOrigin {
  /** Lets a page of an allowed origin read the reply. */
  allow(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Whether a page may open a WebSocket, on which browsers put no bound. Other clients send no origin, or the gateway's own
   * (Python's `websocket-client`).
   */
  isWelcome(request: IncomingMessage): boolean;
  /** Answers a browser's preflight, or an OPTIONS request. Needs no key: browsers send none. */
  answerOptions(request: IncomingMessage, response: ServerResponse, allow: string): void;
}

/** Client libraries send many headers of their own; a browser sends another preflight after this time. */
const PREFLIGHT_SECONDS = 3600;
const ANY = '*';

/** For pages in browsers (CORS). With no origins, which is the default, browsers refuse such pages by themselves. */
export function createCrossOrigin(origins: readonly string[]): CrossOrigin {
  const allowed = new Set(origins);
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (allowed.has(ANY) || allowed.has(origin));

  const allow: CrossOrigin['allow'] = (request, response) => {
    if (allowed.size === 0) return;
    response.setHeader('vary', 'origin');
    const { origin } = request.headers;
    if (!isAllowed(origin)) return;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', ANY);
  };

  return {
    allow,
    isWelcome: ({ headers: { origin, host } }) =>
      origin === undefined || isAllowed(origin) || (host !== undefined && URL.parse(origin)?.host === host),
    answerOptions: (request, response, methods) => {
      allow(request, response);
      response.setHeader('allow', methods);
      if (isAllowed(request.headers.origin)) {
        response.setHeader('access-control-allow-methods', methods);
        response.setHeader(
          'access-control-allow-headers',
          request.headers['access-control-request-headers'] ?? ANY,
        );
        response.setHeader('access-control-max-age', PREFLIGHT_SECONDS);
      }
      response.writeHead(204).end();
    },
  };
}
