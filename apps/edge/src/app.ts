import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { pathNotFound } from '@gateway/contracts/endpoints/missing-paths';
import { openapiDocument } from '@gateway/contracts/endpoints/openapi';
import { writeError } from '@gateway/service-kit/error-response';
import type { Readiness } from '@gateway/service-kit/life/readiness';
import { mountHealth } from '@gateway/service-kit/ops';
import { checkRequest } from '@gateway/service-kit/request/check-request';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import express, { type ErrorRequestHandler, type Router } from 'express';
import type { createGateway } from './gateway.ts';
import type { EdgeContexts } from './request/edge-context.ts';

interface EdgeAppOptions {
  readonly contexts: EdgeContexts;
  readonly gateway: ReturnType<typeof createGateway>;
  readonly readiness: Readiness;
}

/**
 * The public app: first the API, without Express, since nearly every request is one; then the public pages; everything
 * else is a 404. Malformed requests are refused before Express, which would answer them itself.
 */
export function createEdgeApp({ contexts, gateway, readiness }: EdgeAppOptions): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  mountPublicPages(app, readiness);
  app.use((request) => {
    throw pathNotFound(request.method, request.path);
  });
  const refuse = (error: unknown, request: IncomingMessage, response: ServerResponse) => {
    const context = contexts.of(request, response);
    if (context.failure !== undefined) return;
    writeError(response, error, context);
    if (!request.complete) discardRest(request);
  };
  const onError: ErrorRequestHandler = (error, request, response, _next) => refuse(error, request, response);
  app.use(onError);
  return (request, response) => {
    try {
      checkRequest(request, response);
      gateway(request, response, (error) => {
        if (error === undefined) app(request, response);
        else refuse(error, request, response);
      });
    } catch (error) {
      refuse(error, request, response);
    }
  };
}

/**
 * The pages that need no key; none reveals anything about this installation. Clients probe `/` and `/api/hello` before
 * their first call. Express answers HEAD wherever GET is answered.
 */
function mountPublicPages(router: Router, readiness: Readiness): void {
  router.get(['/', '/api/hello'], (_request, response) => {
    response.json({ status: 'ok' });
  });
  const document = JSON.stringify(openapiDocument());
  router.get('/openapi.json', (_request, response) => {
    response.type('json').send(document);
  });
  mountHealth(router, readiness, { showMissing: false });
}
