import type { IncomingHttpHeaders } from 'node:http';
import { ENDPOINTS } from '@gateway/contracts/endpoints/endpoints';
import { createPathTable, pathOf } from '@gateway/contracts/endpoints/path-table';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { Passes } from '@gateway/metering/keys/pass';
import { http } from '@gateway/service-kit/node-http';
import { findContext, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Request, RequestHandler, Response } from 'express';
import { writeAdminError } from '../api/write-admin-error.ts';
import type { Principal } from '../sessions/authenticate.ts';
import { mayUseKey } from '../sessions/scope.ts';

/** Before the edge's own paths. */
export const PLAYGROUND_PATH = '/admin/v1/playground';
/** Names the key, by its id, under which a request is sent. */
export const PLAYGROUND_KEY_HEADER = 'x-playground-key';

/** What the edge gets of the browser's headers: nothing that identifies the person or the page. */
const PASSED_ON = [
  'accept',
  'anthropic-beta',
  'anthropic-version',
  'content-length',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'prefer',
  'transfer-encoding',
] as const;

/** An answer is data for the page's scripts: a browser that opens it shows nothing of it and runs nothing. */
const AS_DATA = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
} as const;

interface RelayOptions {
  /** Where this service reaches the edge. */
  readonly edgeUrl: string;
  readonly keys: Pick<KeyStore, 'getKey'>;
  readonly passes: Pick<Passes, 'issue'>;
}

/** Sends a person's request, whose path is one of the edge's, and answers it. @throws {GatewayError} what it refuses itself */
export type Relay = (
  request: Request,
  response: Response,
  by: { readonly principal: Principal; readonly context: RequestContext },
) => Promise<void>;

/**
 * Lets a person who has signed in call the public API under a key whose secret this service does not know. The request counts on
 * that key like any other; bytes pass as they come, both ways, at the slower side's pace.
 */
export function createRelay({ edgeUrl, keys, passes }: RelayOptions): Relay {
  const findPath = createPathTable(ENDPOINTS);
  let opening: Promise<RequestHandler> | undefined;

  return async (request, response, { principal, context }) => {
    const path = pathOf(request.url);
    const row = findPath(path);
    if (row?.endpoints.has(request.method) !== true)
      throw new GatewayError('path_not_found', `The API has no ${request.method} ${path}.`);
    const keyId = request.headers[PLAYGROUND_KEY_HEADER];
    const key = typeof keyId === 'string' ? await keys.getKey(keyId) : undefined;
    if (key === undefined || !mayUseKey(principal, key)) throw unknownKey();
    Object.assign(context.line, {
      relayedTo: row.path,
      keyId: key.id,
      by: principal.session?.name ?? 'admin',
    });
    const pass = passes.issue({ keyId: key.id, channel: null });
    request.headers = {
      ...passedOn(request.headers),
      authorization: `Bearer ${pass}`,
      [INTERNAL_HEADERS.requestId]: context.requestId,
    };
    opening ??= openProxy(edgeUrl);
    const proxy = await opening;
    await proxy(request, response, (error) => {
      throw error;
    });
  };
}

/** Loads the proxy's package: an instance whose playground nobody uses does without its memory. */
async function openProxy(edgeUrl: string): Promise<RequestHandler> {
  const { createProxyMiddleware, proxyEventsPlugin } = await import('http-proxy-middleware');
  return createProxyMiddleware({
    target: edgeUrl,
    // Only the plugin for `on` is used: the others log, and answer in plain text.
    ejectPlugins: true,
    plugins: [proxyEventsPlugin],
    on: {
      proxyRes: (answer, request) => {
        delete answer.headers['set-cookie'];
        Object.assign(answer.headers, AS_DATA);
        // The proxy breaks off the browser's answer then, which looks as if the browser had left.
        answer.once('error', (error) => {
          const context = findContext(request);
          if (context !== undefined) context.failure = edgeAway(error);
        });
      },
      error: (error, request, response) => {
        const context = request instanceof http.IncomingMessage ? findContext(request) : undefined;
        if (context === undefined || !(response instanceof http.ServerResponse) || response.destroyed) return;
        writeAdminError(response, edgeAway(error), context);
      },
    },
  });
}

function passedOn(sent: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]])),
  );
}

export const unknownKey = (): GatewayError =>
  new GatewayError('object_not_found', {
    message: `Send the id of a key that you may use in the header ${PLAYGROUND_KEY_HEADER}, or with '?key=' for a WebSocket.`,
  });

export const edgeAway = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message:
      'The admin service cannot reach the edge. Check EDGE_URL in its settings, and whether the edge is running.',
    cause,
  });
