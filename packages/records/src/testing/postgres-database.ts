import { randomUUID } from 'node:crypto';
import { postgresUrl } from '@gateway/testkit/postgres-url';
import pg from 'pg';

/** A database of a test's own in the PostgreSQL of its project. */
export interface PostgresDatabase extends AsyncDisposable {
  readonly url: string;
}

export async function createPostgresDatabase(): Promise<PostgresDatabase> {
  const serverUrl = postgresUrl();
  const url = new URL(serverUrl);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  url.pathname = `/${name}`;
  await run(serverUrl, `create database ${name}`);
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => run(serverUrl, `drop database ${name} with (force)`),
  };
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
