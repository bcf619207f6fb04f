import { createServiceApp, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Express } from 'express';
import { createGenerateHandler } from './generate.ts';
import { createStoredHandler } from './stored/stored-response.ts';
import type { TextServices } from './text-call.ts';
import { COUNT_TOKENS, MESSAGES, RESPONSES } from './text-endpoint.ts';

type TextAppOptions = TextServices & { readonly service: Omit<ServiceAppOptions, 'service' | 'handlers'> };

/** The text service: everything below `/v1/responses` and `/v1/messages`. */
export const createTextApp = ({ service, ...services }: TextAppOptions): Express =>
  createServiceApp({
    ...service,
    service: 'text',
    handlers: {
      'POST /v1/responses': createGenerateHandler(RESPONSES, services),
      'GET /v1/responses/{id}': createStoredHandler({ method: 'GET', subpath: '' }, services),
      'DELETE /v1/responses/{id}': createStoredHandler({ method: 'DELETE', subpath: '' }, services),
      'POST /v1/responses/{id}/cancel': createStoredHandler({ method: 'POST', subpath: '/cancel' }, services),
      'GET /v1/responses/{id}/input_items': createStoredHandler(
        { method: 'GET', subpath: '/input_items' },
        services,
      ),
      'POST /v1/messages': createGenerateHandler(MESSAGES, services),
      'POST /v1/messages/count_tokens': createGenerateHandler(COUNT_TOKENS, services),
    },
  });
