import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import { createRequestLog } from '@gateway/service-kit/request-log';
import { startService } from '@gateway/service-kit/start-service';
import { createTokenCheck } from './admin-token.ts';
import { createAdminApp } from './app.ts';
import { AdminConfig } from './config.ts';
import { keyRoutes } from './key-routes.ts';

await startService(
  { service: 'admin', settings: AdminConfig, process },
  async ({ config, life, logger, metrics }) => {
    const now = Date.now;
    const { readiness, deadline } = life;
    const redis = life.own(createRequestRedis(config.REDIS_URL), (owned) => owned.disconnect());
    await connectRedis(redis, { logger, readiness });
    const keys = createKeyStore({ redis, gatewaySecret: config.GATEWAY_SECRET, now });
    const app = createAdminApp({
      routes: keyRoutes({ keys, now }),
      checkToken: createTokenCheck(config.GATEWAY_ADMIN_TOKEN),
      readiness,
      metrics,
      requestLog: createRequestLog({ logger, metrics }),
      deadline,
    });
    await life.listen(app, { port: config.ADMIN_PORT, host: config.HOST, portSetting: 'ADMIN_PORT' });
  },
);
