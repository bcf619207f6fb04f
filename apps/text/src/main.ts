import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import { createIdentityVerifier } from '@gateway/service-kit/identity-token';
import { createRequestLog } from '@gateway/service-kit/request-log';
import { startService } from '@gateway/service-kit/start-service';
import { openUpstream } from '@gateway/upstream/open-upstream';
import { createTextApp } from './app.ts';
import { createBackgroundUsage } from './background/background-usage.ts';
import { createPendingResponses } from './background/pending-responses.ts';
import { TextConfig } from './config.ts';
import { createOpaqueTokens } from './protocols/opaque-token.ts';
import { createIdOrigins } from './stored/id-origins.ts';
import { createTextMetrics } from './text-metrics.ts';

const options = { service: 'text', settings: TextConfig, process };

await startService(options, async ({ config, life, logger, metrics }) => {
  const textMetrics = createTextMetrics(metrics);
  const { upstream } = life.own(
    await openUpstream({
      path: config.GATEWAY_CONFIG,
      env: process.env,
      logger,
      onAttempt: metrics.attempt,
    }),
    (open) => open.close(),
  );
  const redis = life.own(createRequestRedis(config.REDIS_URL), (open) => open.disconnect());
  await connectRedis(redis, { logger, readiness: life.readiness });
  const meter = life.own(
    await openMeter({
      redis,
      settings: config,
      metrics,
      now: Date.now,
      report: (problem) => logger.warn(problem, 'metering'),
    }),
    (open) => open.close(),
  );
  const background = life.own(
    createBackgroundUsage({
      pending: createPendingResponses(redis),
      upstream,
      meter,
      metrics: textMetrics,
      now: Date.now,
      pollMs: config.TEXT_BACKGROUND_POLL_MS,
      giveUpMs: config.TEXT_BACKGROUND_GIVE_UP_SECONDS * 1000,
      onBooked: (line) => logger.info(line, 'background response ended'),
      onProblem: (reason) => logger.warn({ reason }, 'background responses cannot be looked at'),
    }),
    (open) => open.close(),
  );
  const app = createTextApp({
    meter,
    background,
    now: Date.now,
    upstream,
    origins: createIdOrigins({ redis, ttlSeconds: config.TEXT_RESPONSE_TTL_SECONDS }),
    metrics: textMetrics,
    tokens: createOpaqueTokens(config.GATEWAY_SECRET),
    maxBodyBytes: config.TEXT_MAX_BODY_BYTES,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
    service: {
      readiness: life.readiness,
      metrics,
      requestLog: createRequestLog({ logger, metrics }),
      verifyIdentity: createIdentityVerifier({ secret: config.GATEWAY_SECRET, now: Date.now }),
      deadline: life.deadline,
    },
  });
  await life.listen(app, { port: config.TEXT_PORT, host: config.HOST, portSetting: 'TEXT_PORT' });
});
