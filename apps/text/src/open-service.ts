import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import type { Started } from '@gateway/service-kit/start-service';
import type { Express } from 'express';
import { createTextApp } from './app.ts';
import type { TextConfig } from './config.ts';
import { createOpaqueTokens } from './protocols/opaque-token.ts';
import { createResponseOrigins } from './stored/response-origins.ts';
import { createTextMetrics } from './text-metrics.ts';

/** Opens the text service; the process's life closes what it takes. */
export async function openTextService(started: Started<TextConfig>): Promise<Express> {
  const { config, metrics } = started;
  const { upstream, redis, meter } = await openModelAccess(started);
  return createTextApp({
    upstream,
    meter,
    origins: createResponseOrigins({ redis, ttlSeconds: config.TEXT_RESPONSE_TTL_SECONDS }),
    metrics: createTextMetrics(metrics),
    tokens: createOpaqueTokens(config.GATEWAY_SECRET),
    maxBodyBytes: config.TEXT_MAX_BODY_BYTES,
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
    now: Date.now,
    service: serviceAppOptions(started),
  });
}
