import { countsWhereItReserves } from '@gateway/model-service/counted-request';
import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import { embeddingsHandler } from './embeddings/embeddings-handler.ts';
import { moderationsHandler } from './moderations/moderations-handler.ts';
import { rerankHandler } from './rerank/rerank-handler.ts';
import type { RetrievalService } from './retrieval-service.ts';

interface RetrievalAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'>, RetrievalService {}

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
        moderationsHandler(options),
      ),
      'POST /v1/embeddings': countsWhereItReserves(
        { scope: 'embeddings' },
        options,
        embeddingsHandler(options),
      ),
    },
  });
}
