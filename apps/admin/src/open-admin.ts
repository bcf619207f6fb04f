import { createJobList } from '@gateway/jobs/job-list';
import { createWebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createTeamStore } from '@gateway/metering/keys/team-store';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import { createRequestLog } from '@gateway/service-kit/request-log';
import type { Started } from '@gateway/service-kit/start-service';
import { createTokenCheck } from './admin-token.ts';
import { createAdminApp } from './app.ts';
import { createBalanceReader } from './balances.ts';
import { createChannelRests } from './channel-rests.ts';
import type { AdminConfig } from './config.ts';
import { createJobBoard } from './job-board.ts';
import { withOpenapi } from './openapi.ts';
import { createConfigurationReader } from './read-configuration.ts';
import { createReserveAgain } from './reserve-again.ts';
import { auditRoutes } from './routes/audit-routes.ts';
import { channelRoutes } from './routes/channel-routes.ts';
import { jobRoutes } from './routes/job-routes.ts';
import { keyRoutes } from './routes/key-routes.ts';
import { teamRoutes } from './routes/team-routes.ts';
import { usageRoutes } from './routes/usage-routes.ts';
import { webhookRoutes } from './routes/webhook-routes.ts';
import { createWarnings } from './warnings.ts';

/** Its bodies are small, and no edge checks them before. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Opens the admin service, and listens. */
export async function openAdmin({
  config,
  env,
  life,
  logger,
  metrics,
  page,
}: Started<AdminConfig>): Promise<void> {
  const now = Date.now;
  const { readiness, deadline } = life;
  const redis = life.own(createRequestRedis(config.REDIS_URL), (owned) => owned.disconnect());
  await connectRedis(redis, { logger, readiness });
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'a stored record cannot be read and is left out');
    metrics.brokenRecord(broken.kind);
  });
  const keys = createKeyStore({
    redis,
    gatewaySecret: config.GATEWAY_SECRET,
    webhookSecret: config.WEBHOOK_SECRET,
    now,
    onBroken,
  });
  const teams = createTeamStore({ redis, now, onBroken });
  const readConfiguration = createConfigurationReader({ path: config.GATEWAY_CONFIG, env });
  const warnings = createWarnings({ teams, readConfiguration });
  const readBalance = createBalanceReader({ redis, now, timeZone: config.GATEWAY_TIME_ZONE });
  const webhooks = createWebhookLog(redis, (error) => logger.warn({ err: error }, 'webhooks'));
  const ledger = createLedger({
    redis,
    now,
    keepRecordsDays: config.USAGE_RECORDS_DAYS,
    keepSumsDays: config.USAGE_SUMS_DAYS,
  });
  const reserveAgain = createReserveAgain({ keys, teams, ledger, timeZone: config.GATEWAY_TIME_ZONE, now });
  const jobs = createJobList(redis, (error) => logger.warn({ err: error }, 'the queues'));
  const routes = withOpenapi([
    ...keyRoutes({ keys, warnings, readBalance, now }),
    ...teamRoutes({ teams, keys, readBalance }),
    ...usageRoutes({ redis, now, onBroken }),
    ...auditRoutes({ redis, onBroken }),
    ...channelRoutes({ readConfiguration, rests: createChannelRests({ redis, now }) }),
    ...webhookRoutes({ webhooks }),
    ...jobRoutes({ jobs, reserveAgain }),
  ]);
  const app = createAdminApp({
    routes,
    board: createJobBoard(jobs.queues),
    checkToken: createTokenCheck(config.GATEWAY_ADMIN_TOKEN),
    readiness,
    page,
    requestLog: createRequestLog({ logger, metrics }),
    deadline,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    instanceKey: config.ADMIN_INSTANCE_KEY,
  });
  await life.listen(app, {
    port: config.ADMIN_PORT,
    host: config.HOST,
    portSetting: 'ADMIN_PORT',
    options: { requestTimeout: REQUEST_TIMEOUT_MS },
  });
}
