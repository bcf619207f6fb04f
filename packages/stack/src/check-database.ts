import { ConfigError } from '@gateway/contracts/config-error';
import { checkDatabase } from '@gateway/records/database/open-database';
import { StartError } from './start-error.ts';

/**
 * Checks the PostgreSQL that `DATABASE_URL` names.
 * @throws StartError if it cannot be reached, refuses us, is too old, or was used by a newer gateway.
 */
export async function checkDatabaseUrl(url: string): Promise<void> {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol))
    throw new StartError(
      'DATABASE_URL is not a postgres:// URL, such as postgres://user:password@host:5432/gateway.',
    );
  try {
    await checkDatabase(url);
  } catch (error) {
    throw error instanceof ConfigError ? new StartError(error.message) : error;
  }
}
