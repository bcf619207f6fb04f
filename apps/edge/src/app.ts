import { GatewayError } from '@gateway/contracts/gateway-error';
import { discardRest } from '@gateway/service-kit/discard-rest';
import type { Readiness } from '@gateway/service-kit/readiness';
import { writeError } from '@gateway/service-kit/write-error';
import express, { type ErrorRequestHandler, type Express } from 'express';
import type { EdgeContexts } from './edge-context.ts';
import type { createGateway } from './gateway.ts';
import { mountPublicPages } from './public-pages.ts';

interface EdgeAppOptions {
  readonly contexts: EdgeContexts;
  readonly gateway: ReturnType<typeof createGateway>;
  readonly readiness: Readiness;
}

/** The public app: the API first, since nearly every request is one; then the public pages; everything else is a 404. */
export function createEdgeApp({ contexts, gateway, readiness }: EdgeAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.use(gateway);
  mountPublicPages(app, readiness);
  app.use((request) => {
    throw new GatewayError('path_not_found', `Invalid URL (${request.method} ${request.path})`);
  });
  const onError: ErrorRequestHandler = (error, request, response, _next) => {
    const context = contexts.of(request, response);
    if (context.failure !== undefined) return;
    writeError(response, error, context);
    if (!request.complete) discardRest(request);
  };
  app.use(onError);
  return app;
}
