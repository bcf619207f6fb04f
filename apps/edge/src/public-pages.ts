import { openapiDocument } from '@gateway/contracts/openapi';
import { mountHealth } from '@gateway/service-kit/ops';
import type { Readiness } from '@gateway/service-kit/readiness';
import type { Router } from 'express';

/**
 * The pages that need no key; none reveals anything about this installation. Clients probe `/` and `/api/hello` before
 * their first call. Express answers HEAD wherever GET is answered.
 */
export function mountPublicPages(router: Router, readiness: Readiness): void {
  router.get(['/', '/api/hello'], (_request, response) => {
    response.json({ status: 'ok' });
  });
  const document = JSON.stringify(openapiDocument());
  router.get('/openapi.json', (_request, response) => {
    response.type('json').send(document);
  });
  mountHealth(router, readiness, { showMissing: false });
}
