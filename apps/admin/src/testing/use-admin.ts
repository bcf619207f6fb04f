import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import type { Database, Dialect } from '@gateway/records/database/database';
import { emptyDatabase } from '@gateway/records/testing/empty-database';
import { createPostgresDatabase } from '@gateway/records/testing/postgres-database';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createSessionCookies } from '../sessions/session-cookie.ts';
import { createSessionStore, type NewSession } from '../sessions/session-store.ts';
import { type OpenedAccess, openAccess } from './open-access.ts';
import { GATEWAY_SECRET, type RunningAdmin, runAdmin } from './run-admin.ts';

interface UseAdminOptions {
  /** The text of its `gateway.yaml`; absent: it has none. */
  readonly configuration?: string;
  readonly env?: Record<string, string> | (() => Record<string, string>);
  /** Tests build on what was there before them; absent: each begins with an empty Redis and an empty database. */
  readonly keepsData?: true;
  /** The file in its data folder if left out. */
  readonly dialect?: Dialect;
}

/** The admin service of a test file, with a Redis and a folder of its own. To be read within tests and hooks. */
export interface UsedAdmin extends Pick<RunningAdmin, 'url' | 'output'> {
  readonly server: TestRedis;
  readonly redis: Redis;
  readonly keys: OpenedAccess['keys'];
  /** For another admin service beside it, which has the same database. */
  readonly dataFolder: string;
  /** Where its `gateway.yaml` is. */
  readonly configurationPath: string;
}

/** Starts it before the file's first test, and stops it after the last one. */
export function useAdmin({ configuration, env = {}, keepsData, dialect }: UseAdminOptions = {}): UsedAdmin {
  const resources = new AsyncDisposableStack();
  let used: UsedAdmin | undefined;
  let database: Database | undefined;
  const now = (): UsedAdmin => {
    if (used === undefined) throw new Error('the admin service is not started yet');
    return used;
  };

  beforeAll(async () => {
    const server = resources.adopt(await startRedis(), (owned) => owned.close());
    const redis = resources.adopt(createRedis(server.url, 'request'), (owned) => owned.disconnect());
    await redis.connect();
    const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
    const configurationPath = join(folder.path, 'gateway.yaml');
    if (configuration !== undefined) await writeFile(configurationPath, configuration);
    const postgres = dialect === 'postgres' ? resources.use(await createPostgresDatabase()) : null;
    const settings = { GATEWAY_DATA_DIR: folder.path, ...(postgres && { DATABASE_URL: postgres.url }) };
    const own = {
      ...settings,
      ...(configuration !== undefined && { GATEWAY_CONFIG: configurationPath }),
      ...(typeof env === 'function' ? env() : env),
    };
    const { url, output } = resources.adopt(await runAdmin(server.url, own), (owned) => owned.stop());
    const opened = resources.use(await openAccess(redis, settings));
    database = opened.database;
    used = { url, output, server, redis, keys: opened.keys, dataFolder: folder.path, configurationPath };
  });
  afterAll(() => resources.disposeAsync());
  if (!keepsData)
    beforeEach(async () => {
      await emptyRedis(now().redis);
      if (database !== undefined) await emptyDatabase(database);
    });

  return {
    get url() {
      return now().url;
    },
    get output() {
      return now().output;
    },
    get server() {
      return now().server;
    },
    get redis() {
      return now().redis;
    },
    get keys() {
      return now().keys;
    },
    get dataFolder() {
      return now().dataFolder;
    },
    get configurationPath() {
      return now().configurationPath;
    },
  };
}

export type Person = Pick<NewSession, 'role' | 'scope'> & Partial<NewSession>;

/** The `Cookie` header of a session that was opened without a sign-in. */
export async function cookieOf(redis: Redis, person: Person): Promise<string> {
  const store = createSessionStore({ redis, now: Date.now, maxSeconds: 3600, idleSeconds: 3600 });
  const { id } = await store.open(
    {
      ...{ name: person.role, method: 'oidc', keyHash: null, address: '127.0.0.1', userAgent: null },
      ...person,
    },
    { who: person.role, requestId: null },
  );
  const cookie = createSessionCookies(GATEWAY_SECRET).create(id, { isSecure: false, maxAgeSeconds: 60 });
  return cookie.split(';')[0] ?? '';
}
