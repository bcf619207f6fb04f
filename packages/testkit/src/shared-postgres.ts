import type { TestProject } from 'vitest/node';
import type {} from './postgres-url.ts';
import { startPostgres } from './start-postgres.ts';

/** Starts a PostgreSQL for a project, once. */
export default async function sharePostgres(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return async () => server[Symbol.asyncDispose]();
}
