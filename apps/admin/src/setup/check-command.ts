import { loadConfiguration } from '@gateway/upstream/configuration/load-configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { CommandError } from '../cli/admin-client.ts';
import { UsageError } from '../cli/commands/options.ts';
import type { CommandLine } from '../cli/run-command.ts';
import { printable } from '../cli/texts/printable.ts';
import { checkAccounts, checksTable, isTrouble, unlistedRoutes } from './account-checks.ts';

const DEFAULT_FILE = 'gateway.yaml';

/**
 * `check [FILE]`: reads the configuration as the gateway does, and asks every account's provider for its models. No service is asked.
 *
 * @throws {CommandError} if something is to do
 */
export async function checkConfiguration(
  argv: readonly string[],
  { env, print }: Pick<CommandLine, 'env' | 'print'>,
): Promise<string> {
  const [file, extra] = argv;
  if (file?.startsWith('-')) throw new UsageError(`check has no option ${file}`);
  if (extra !== undefined) throw new UsageError(`Unexpected argument: ${extra}`);
  const path = file ?? (env.GATEWAY_CONFIG || DEFAULT_FILE);
  // A file that is named has to be there.
  const source = { path, env: file === undefined ? env : { ...env, GATEWAY_CONFIG: file } };
  const configuration = await loadConfiguration(source).catch((error: unknown) => {
    throw error instanceof ConfigurationError ? new CommandError(error.message) : error;
  });
  if (configuration.source === 'simulator')
    throw new CommandError(
      `There is no ${path}, and no provider's key in the environment, so the gateway would use its simulator. Write a configuration with npm run gateway -- init.`,
    );
  const checks = await checkAccounts(configuration);
  print(printable(checksTable(checks)));
  const routes = unlistedRoutes(configuration.models, checks);
  if (routes !== '')
    print(
      printable(`\nNot in their providers' lists, which often leave out other names of a model:\n${routes}`),
    );
  const troubles = checks.filter(isTrouble).length;
  if (troubles > 0)
    throw new CommandError(
      `\n${troubles} of ${checks.length} ${checks.length === 1 ? 'account' : 'accounts'} cannot be used yet.`,
    );
  return `\n${path} can be used.`;
}
