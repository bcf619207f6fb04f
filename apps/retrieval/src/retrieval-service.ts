import type { ModelCallServices } from '@gateway/model-calls/call/call-model';
import type { Counting } from '@gateway/model-service/counted-request';

/** What the retrieval endpoints work with. */
export interface RetrievalService extends Counting, ModelCallServices {
  readonly jsonMaxBytes: number;
  readonly maxJsonDepth: number;
}
