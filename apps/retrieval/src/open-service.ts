import { openContentLog } from '@gateway/model-service/content-log/open-content-log';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createRetrievalService } from './app.ts';
import type { RetrievalSettings } from './config.ts';

/** Opens the retrieval service; the process's life closes what it takes. */
export async function openRetrievalService(started: Started<RetrievalSettings>): Promise<Service> {
  const { config } = started;
  const access = await openModelAccess(started);
  return createRetrievalService({
    ...serviceAppOptions(started, access),
    ...access,
    contentLog: openContentLog(started, access),
    jsonMaxBytes: config.JSON_MAX_BYTES,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    now: Date.now,
  });
}
