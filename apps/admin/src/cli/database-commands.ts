import { resolve } from 'node:path';
import { ConfigError } from '@gateway/contracts/config-error';
import type { Environment } from '@gateway/contracts/environment';
import { CommandError } from './admin-client.ts';
import { UsageError } from './commands/options.ts';

/**
 * `backup FILE` and `restore FILE`, on the database in the data folder: no service is needed.
 *
 * @throws {CommandError | UsageError}
 */
export async function answerDatabase(
  name: 'backup' | 'restore',
  argv: readonly string[],
  env: Environment,
): Promise<string> {
  const [file, extra] = argv;
  if (file === undefined || file.startsWith('-')) throw new UsageError(`Missing argument: ${name} FILE`);
  if (extra !== undefined) throw new UsageError(`Unexpected argument: ${extra}`);
  const settings = {
    GATEWAY_DATA_DIR: env.GATEWAY_DATA_DIR || '.data',
    DATABASE_URL: env.DATABASE_URL || undefined,
  };
  // No other command needs a database.
  const { backUp, restore } = await import('@gateway/records/database/sqlite-backup');
  try {
    if (name === 'backup') {
      await backUp(settings, resolve(file));
      return `The database is backed up to ${resolve(file)}.`;
    }
    const isReplaced = await restore(settings, resolve(file));
    const before = isReplaced ? ' What was there before is kept beside it, as gateway.db.replaced.' : '';
    return `The database is restored from ${resolve(file)}.${before}`;
  } catch (error) {
    throw error instanceof ConfigError ? new CommandError(error.message) : error;
  }
}
