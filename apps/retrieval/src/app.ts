import type { IncomingMessage } from 'node:http';
import { GOOGLE_BASES } from '@gateway/contracts/endpoints/endpoints';
import { paramsOf, pathOf } from '@gateway/contracts/endpoints/path-table';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import { callModel, type ModelCall } from '@gateway/model-calls/call/call-model';
import type { SentRequest } from '@gateway/model-calls/call/sent-request';
import { embeddingsCall } from '@gateway/model-calls/embeddings/embeddings-call';
import { batchEmbedContentsCall, embedContentCall } from '@gateway/model-calls/embeddings/google-call';
import { moderationsCall } from '@gateway/model-calls/moderations/moderations-call';
import type { Caller } from '@gateway/model-service/caller';
import { countsWhereItReserves } from '@gateway/model-service/counted-request';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import { rerankHandler } from './rerank/rerank-handler.ts';
import type { RetrievalService } from './retrieval-service.ts';

interface RetrievalAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'>, RetrievalService {}

/** OpenAI takes 300,000 tokens in 2048 inputs. */
const MAX_EMBEDDING_VALUES = 310_000;

/** Reads a request and calls its model. */
const handlerOf =
  <Result>(
    open: (service: RetrievalService, sent: SentRequest) => ModelCall<Result>,
    service: RetrievalService,
    maxValues?: number,
  ) =>
  async (request: IncomingMessage, caller: Caller, entry: PendingEntry | undefined): Promise<void> => {
    const { jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const context = contextOf(request);
    const identity = identityOf(request);
    const body = await readJsonBody(request, { maxBytes, maxDepth, ...(maxValues && { maxValues }) });
    const { headers } = request;
    await callModel(service, open(service, { ...body, headers, caller, context, identity, entry }));
  };

/** The calls of Google's clients, whose models are in their paths. */
const googleHandlers = (service: RetrievalService, base: string) => {
  const handlerAt = (path: string, open: typeof embedContentCall) =>
    countsWhereItReserves({ scope: 'embeddings' }, service, (request, caller, entry) => {
      const { model = '' } = paramsOf({ path }, pathOf(request.url ?? '/'));
      const opened = (_: RetrievalService, sent: SentRequest) => open(service, { ...sent, model });
      return handlerOf(opened, service, MAX_EMBEDDING_VALUES)(request, caller, entry);
    });
  const calls = { embedContent: embedContentCall, batchEmbedContents: batchEmbedContentsCall };
  return Object.fromEntries(
    Object.entries(calls).map(([verb, open]) => {
      const path = `${base}:${verb}`;
      return [`POST ${path}`, handlerAt(path, open)];
    }),
  );
};

/** The retrieval service: small models that are asked and answer at once, for search over documents above all. */
export function createRetrievalService(options: RetrievalAppOptions): Service {
  const rerank = countsWhereItReserves({ scope: 'rerank' }, options, rerankHandler(options));
  return createService({
    ...options,
    service: 'retrieval',
    handlers: {
      'POST /v1/rerank': rerank,
      'POST /v2/rerank': rerank,
      'POST /v1/moderations': countsWhereItReserves(
        { scope: 'moderations' },
        options,
        handlerOf(moderationsCall, options),
      ),
      'POST /v1/embeddings': countsWhereItReserves(
        { scope: 'embeddings' },
        options,
        handlerOf(embeddingsCall, options, MAX_EMBEDDING_VALUES),
      ),
      ...googleHandlers(options, GOOGLE_BASES[0]),
      ...googleHandlers(options, GOOGLE_BASES[1]),
    },
  });
}
