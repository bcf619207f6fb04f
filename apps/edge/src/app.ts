import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { pathNotFound } from '@gateway/contracts/endpoints/missing-paths';
import { pathOf } from '@gateway/contracts/endpoints/path-table';
import { writeError } from '@gateway/service-kit/error-response';
import type { Readiness } from '@gateway/service-kit/life/readiness';
import { healthPages } from '@gateway/service-kit/ops';
import { type Pages, servePages, writeJsonPage } from '@gateway/service-kit/pages';
import { checkRequest } from '@gateway/service-kit/request/check-request';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import type { createGateway } from './gateway.ts';
import type { EdgeContexts } from './request/edge-context.ts';

interface EdgeAppOptions {
  readonly contexts: EdgeContexts;
  readonly gateway: ReturnType<typeof createGateway>;
  readonly readiness: Readiness;
}

/**
 * The public app: malformed requests are refused first; then comes the API, since nearly every request is one, then the public pages;
 * everything else is a 404.
 */
export function createEdgeApp({ contexts, gateway, readiness }: EdgeAppOptions): RequestListener {
  const servePublic = servePages(publicPages(readiness));
  const refuse = (error: unknown, request: IncomingMessage, response: ServerResponse) => {
    const context = contexts.of(request, response);
    if (context.failure !== undefined) return;
    writeError(response, error, context);
    if (!request.complete) discardRest(request);
  };
  const serveOther = (request: IncomingMessage, response: ServerResponse) =>
    servePublic(request, response, (error = pathNotFound(request.method, pathOf(request.url ?? '/'))) =>
      refuse(error, request, response),
    );
  return (request, response) => {
    try {
      checkRequest(request, response);
      gateway(request, response, (error) => {
        if (error === undefined) serveOther(request, response);
        else refuse(error, request, response);
      });
    } catch (error) {
      refuse(error, request, response);
    }
  };
}

/** The pages that need no key; none reveals anything about this installation. Clients probe `/` and `/api/hello` before their first call. */
function publicPages(readiness: Readiness): Pages {
  let openapi: Promise<string> | undefined;
  return {
    '/': (_request, response) => writeJsonPage(response, { status: 'ok' }),
    '/api/hello': (_request, response) => writeJsonPage(response, { status: 'ok' }),
    '/openapi.json': async (_request, response) => {
      openapi ??= writeOpenapi();
      writeJsonPage(response, await openapi);
    },
    ...healthPages(readiness, { showMissing: false }),
  };
}

/** Nothing else at the edge needs the schemas of all endpoints. */
async function writeOpenapi(): Promise<string> {
  const { openapiDocument } = await import('@gateway/contracts/endpoints/openapi');
  return JSON.stringify(openapiDocument());
}
