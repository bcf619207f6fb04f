import { join } from 'node:path';
import { openAssetStore } from '@gateway/jobs/asset-store';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createBackgroundUsage } from './background/background-usage.ts';
import type { TextSettings } from './config.ts';
import { createTextService } from './endpoints/app.ts';
import { keepEnding } from './endpoints/kept-response.ts';
import { createTextMetrics } from './metering/text-metrics.ts';
import { partFilesIn } from './stored/conversations/part-files.ts';
import { createConversationStore } from './stored/conversations/redis-conversation-store.ts';
import { startSweeping } from './stored/conversations/start-sweeping.ts';
import { createIdOrigins } from './stored/id-origins.ts';
import { createPendingResponses } from './stored/pending-responses.ts';
import { createOpaqueTokens } from './wire/opaque-token.ts';

const SWEEP_INTERVAL_MS = 60_000;

/** Opens the text service; the process's life closes what it takes. */
export async function openTextService(started: Started<TextSettings>): Promise<Service> {
  const { config, life, logger } = started;
  const { upstream, redis, meter } = await openModelAccess(started);
  const metrics = createTextMetrics(started.metrics);
  const files = await openAssetStore(join(config.GATEWAY_DATA_DIR, 'conversations'));
  const conversations = createConversationStore({
    redis,
    files: partFilesIn(files),
    idTtlSeconds: config.TEXT_RESPONSE_TTL_SECONDS,
  });
  life.own(
    startSweeping({
      intervalMs: SWEEP_INTERVAL_MS,
      conversations,
      onSwept: metrics.swept,
      onProblem: (reason) => logger.warn({ reason }, 'expired conversations cannot be removed'),
    }),
    (sweeping) => sweeping.close(),
  );
  const background = life.own(
    createBackgroundUsage({
      pending: createPendingResponses(redis),
      upstream,
      meter,
      metrics,
      now: Date.now,
      pollMs: config.TEXT_BACKGROUND_POLL_MS,
      giveUpMs: config.TEXT_BACKGROUND_GIVE_UP_SECONDS * 1000,
      onEnded: keepEnding({ conversations, upstream, metrics }),
      onBooked: (line) => logger.info(line, 'background response ended'),
      onProblem: (reason) => logger.warn({ reason }, 'background responses cannot be looked at'),
    }),
    (opened) => opened.close(),
  );
  return createTextService({
    conversations,
    upstream,
    meter,
    background,
    origins: createIdOrigins({ redis, ttlSeconds: config.TEXT_RESPONSE_TTL_SECONDS }),
    metrics,
    tokens: createOpaqueTokens(config.GATEWAY_SECRET),
    maxBodyBytes: config.TEXT_MAX_BODY_BYTES,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
    now: Date.now,
    service: serviceAppOptions(started),
  });
}
