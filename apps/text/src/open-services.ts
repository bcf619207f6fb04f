import { openServiceHooks } from '@gateway/hooks/open-hooks';
import { openContentLog } from '@gateway/model-service/content-log/open-content-log';
import { openSharedStores } from '@gateway/model-service/jobs/open-file-stores';
import { namedFetching } from '@gateway/model-service/named-fetching';
import type { ModelAccess } from '@gateway/model-service/open-model-access';
import type { SpanContents } from '@gateway/model-service/tracing/content/span-contents';
import type { Started } from '@gateway/service-kit/start-service';
import { createBackgroundResponses } from './background/background-responses.ts';
import { createBackgroundUsage } from './background/background-usage.ts';
import type { TextServices } from './call/request/text-call.ts';
import type { SharedSettings } from './config.ts';
import { storeEnding } from './endpoints/stored/read-stored.ts';
import { createTextMetrics } from './metering/text-metrics.ts';
import { createIdOrigins } from './stored/origins/id-origins.ts';
import { createPendingResponses } from './stored/pending-responses.ts';
import { partFilesIn } from './stored/store/part-files.ts';
import { createConversationStore } from './stored/store/redis-conversation-store.ts';
import { startSweeping } from './stored/store/start-sweeping.ts';
import { createCompactionSeals } from './wire/tokens/compaction-seal.ts';
import { createTokenSeals } from './wire/tokens/opaque-token.ts';

const SWEEP_INTERVAL_MS = 60_000;

/**
 * What the service and its worker generate answers with; the process's life closes it.
 *
 * @param sweeps whether it deletes what the content log no longer holds
 */
export async function openTextServices(
  started: Started<SharedSettings>,
  { upstream, redis, meter, refusals }: ModelAccess,
  { sweeps = false }: { readonly sweeps?: boolean } = {},
): Promise<Omit<TextServices, 'keepAliveMs'>> {
  const { config, life, logger } = started;
  const metrics = createTextMetrics(started.metrics);
  const stores = await openSharedStores(started);
  const conversations = createConversationStore({
    redis,
    files: partFilesIn(await stores.open('conversations')),
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
      onEnded: storeEnding({ conversations, upstream, metrics }),
      tracing: started.tracing,
      onBooked: (line) => logger.info(line, 'background response ended'),
      onProblem: (reason) => logger.warn({ reason }, 'background responses cannot be looked at'),
    }),
    (opened) => opened.close(),
  );
  return {
    upstream,
    meter,
    contentLog: openContentLog(started, { upstream }, { sweeps }),
    spanContents: await openSpanContents(started, upstream),
    hooks: openServiceHooks(started),
    refusals,
    background,
    conversations,
    origins: createIdOrigins({ redis, ttlSeconds: config.TEXT_RESPONSE_TTL_SECONDS }),
    metrics,
    fetching: namedFetching(config, upstream),
    tokens: createTokenSeals(config.GATEWAY_SECRET),
    compactions: createCompactionSeals(config.GATEWAY_SECRET),
    maxBodyBytes: config.TEXT_MAX_BODY_BYTES,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    now: Date.now,
  };
}

/** Null, and nothing is loaded, where spans have no content. */
async function openSpanContents(
  { tracing, life }: Pick<Started<SharedSettings>, 'tracing' | 'life'>,
  upstream: Pick<ModelAccess['upstream'], 'configuration'>,
): Promise<SpanContents | null> {
  if (tracing === undefined || tracing.contentPlaces.length === 0) return null;
  const { createSpanContents } = await import('@gateway/model-service/tracing/content/span-contents');
  return life.own(
    createSpanContents(() => upstream.configuration, tracing.contentPlaces),
    (contents) => contents.close(),
  );
}

/** The background responses that both see. */
export const openBackgroundResponses = (
  { config }: Pick<Started<SharedSettings>, 'config'>,
  { redis }: Pick<ModelAccess, 'redis'>,
) =>
  createBackgroundResponses({
    redis,
    ttlSeconds: config.TEXT_RESPONSE_TTL_SECONDS,
    eventsTtlSeconds: config.TEXT_BACKGROUND_EVENTS_SECONDS,
  });
