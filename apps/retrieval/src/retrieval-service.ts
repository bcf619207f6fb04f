import type { Meter } from '@gateway/metering/meter/meter';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import type { Counting } from '@gateway/model-service/counted-request';
import type { Upstream } from '@gateway/upstream/upstream';

/** What the retrieval endpoints work with. */
export interface RetrievalService extends Counting {
  readonly upstream: Upstream;
  readonly meter: Meter;
  readonly contentLog: ContentLog;
  readonly jsonMaxBytes: number;
  readonly maxJsonDepth: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}
