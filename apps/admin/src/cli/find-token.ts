import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from './admin-client.ts';

/**
 * The admin token and where it was found: the environment, or the file that `npm start` keeps in its data folder.
 *
 * @throws {CommandError} when there is none
 */
export async function findToken(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ token: string; tokenSource: string }> {
  if (env.GATEWAY_ADMIN_TOKEN) return { token: env.GATEWAY_ADMIN_TOKEN, tokenSource: 'GATEWAY_ADMIN_TOKEN' };
  const file = join(env.GATEWAY_DATA_DIR || '.data', 'secrets', 'admin-token');
  const token = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (token !== '') return { token, tokenSource: file };
  throw new CommandError(
    `There is no admin token: GATEWAY_ADMIN_TOKEN is not set and ${file} cannot be read. Start the gateway with npm start, which makes one, or set the variable.`,
  );
}
