import { join } from 'node:path';
import { startPostgres, type TestPostgres } from '@gateway/testkit/start-postgres';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import type { Database, Dialect } from '../database/database.ts';
import { type DatabaseSettings, type OpenedDatabase, openDatabase } from '../database/open-database.ts';
import { createPostgresDatabase, type PostgresDatabase } from './postgres-database.ts';

/** What a test has: a database with nothing in it, and an empty Redis. To be read within tests and hooks. */
export interface UsedDatabase {
  readonly dialect: Dialect;
  readonly settings: DatabaseSettings;
  /** Of the settings, opened. */
  readonly opened: OpenedDatabase;
  readonly database: Database;
  readonly redis: Redis;
  readonly redisUrl: string;
  /** Only where the test has a PostgreSQL of its own. */
  readonly postgres: TestPostgres;
}

/** Runs the same tests on SQLite and on PostgreSQL. */
export function onBothDatabases(define: (used: UsedDatabase) => void): void {
  describe.for(['sqlite', 'postgres'] as const)('on %s', (dialect) => define(useDatabase(dialect)));
}

/** @param serverOfItsOwn for tests that stop or freeze their PostgreSQL; else it is the project's */
export function useDatabase(dialect: Dialect, { serverOfItsOwn = false } = {}): UsedDatabase {
  let postgres: TestPostgres | undefined;
  let shared: PostgresDatabase | undefined;
  let server: TestRedis | undefined;
  let redis: Redis | undefined;
  let folder: TemporaryFolder | undefined;
  let opened: OpenedDatabase | undefined;

  beforeAll(async () => {
    if (serverOfItsOwn) postgres = await startPostgres();
    else if (dialect === 'postgres') shared = await createPostgresDatabase();
    server = await startRedis();
    redis = new Redis(server.url);
    redis.on('error', () => undefined);
  });
  afterAll(async () => {
    redis?.disconnect();
    await server?.close();
    await postgres?.[Symbol.asyncDispose]();
    await shared?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    folder = await temporaryFolder();
    const url = postgresUrl();
    if (url !== undefined) await emptyPostgres(url);
    await redis?.flushall();
    opened = await openDatabase(settings());
  });
  afterEach(async () => {
    await opened?.database[Symbol.asyncDispose]();
    await folder?.close();
  });

  const postgresUrl = () => postgres?.url ?? shared?.url;
  const settings = (): DatabaseSettings => ({
    GATEWAY_DATA_DIR: join(there(folder).path, 'data'),
    DATABASE_URL: postgresUrl(),
  });
  return {
    dialect,
    get settings() {
      return settings();
    },
    get opened() {
      return there(opened);
    },
    get database() {
      return there(opened).database;
    },
    get redis() {
      return there(redis);
    },
    get redisUrl() {
      return there(server).url;
    },
    get postgres() {
      return there(postgres);
    },
  };
}

function there<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('not started yet');
  return value;
}

async function emptyPostgres(url: string): Promise<void> {
  const { openPostgres } = await import('../database/open-postgres.ts');
  await using database = openPostgres(url);
  await database.write(async ({ query }) => {
    await query('drop schema public cascade');
    await query('create schema public');
  });
}
