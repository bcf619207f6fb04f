/** Writes the description of the admin API into a file: `node src/write-openapi.ts FILE`. It calls nothing. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createJobList } from '@gateway/jobs/records/job-list';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createPasses } from '@gateway/metering/keys/pass';
import { createRedis } from '@gateway/redis/open-redis';
import { parseConfig } from '@gateway/service-kit/config';
import { createLogger } from '@gateway/service-kit/logger';
import { createPartMetrics } from '@gateway/service-kit/metrics';
import { adminRoutes } from './admin-routes.ts';
import { adminOpenapi } from './api/openapi.ts';
import { AdminConfig } from './config.ts';
import { createSessionCookies } from './sessions/session-cookie.ts';
import { createSessionStore } from './sessions/session-store.ts';

const NOTHING = 'no secret, since nothing is signed here';
/** Nothing listens there, and nothing connects: clients of Redis connect with their first command. */
const REDIS_URL = 'redis://127.0.0.1:1';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: node src/write-openapi.ts FILE');
const config = parseConfig(AdminConfig, { REDIS_URL, GATEWAY_SECRET: NOTHING, GATEWAY_ADMIN_TOKEN: NOTHING });
const redis = createRedis(REDIS_URL, 'request');
const now = Date.now;
const never = (): never => {
  throw new Error('no call is answered here');
};
const access = { get: never, list: never, change: never };
const people = {
  ...{ isAny: never, get: never, findByEmail: never, findByLink: never, list: never, add: never },
  ...{ change: never, noteSignIn: never, listRules: never, putRule: never, deleteRule: never },
};
const routes = adminRoutes({
  config,
  env: {},
  redis,
  now,
  logger: await createLogger({ level: 'silent', pretty: false }),
  metrics: createPartMetrics('admin'),
  onBroken: () => undefined,
  records: {
    recordedUntilMs: () => null,
    usage: { sums: never, newest: never, find: never, all: never, trouble: () => null },
    access,
    people,
    revisions: { latest: never, get: never, list: never, add: never },
    readAudit: never,
    conversations: { moved: { movedOut: 0, broughtBack: 0, expired: 0 }, count: never },
  },
  jobs: createJobList(redis, () => undefined),
  stopping: new AbortController().signal,
  sessions: createSessionStore({ redis, now, maxSeconds: 1, idleSeconds: 1 }),
  cookies: createSessionCookies(NOTHING),
  basePath: '',
  checkToken: () => undefined,
  addressOf: () => 'unknown',
  oidc: null,
  configuration: { draft: never, readSealed: never, readBase: never, stored: undefined, revisions: null },
  own: (resource) => resource,
  keyFinder: createKeyFinder({ redis, gatewaySecret: NOTHING, now }),
  keys: createKeyStore({ records: access, gatewaySecret: NOTHING, now }),
  passes: createPasses({ gatewaySecret: NOTHING, now }),
});
await mkdir(dirname(file), { recursive: true });
await writeFile(file, `${JSON.stringify(adminOpenapi(routes), null, 2)}\n`);
// The queues' clients would keep the process.
process.exit();
