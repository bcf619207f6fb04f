import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { configurationFromText, readConfiguration } from '@gateway/upstream/configuration/load-configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import type { StoredConfiguration } from '@gateway/upstream/configuration/stored/stored-configuration';

/** The channels and models of the current configuration; undefined if it cannot be read. */
export type ReadConfiguration = () => Promise<Configuration | undefined>;

/** @throws {GatewayError} `service_unavailable` if it cannot be read */
export async function configurationOf(readConfiguration: ReadConfiguration): Promise<Configuration> {
  const configuration = await readConfiguration();
  if (configuration !== undefined) return configuration;
  throw new GatewayError(
    'service_unavailable',
    'The configuration file cannot be read or has mistakes, so the services continue with the previous one. Their logs list each mistake.',
  );
}

/** Stands for variables that this process does not have, such as providers' keys and addresses. */
export const PLACEHOLDER = 'http://known-to-the-services';

/**
 * The admin service shows the configuration and calls no provider, so it can do without the providers' keys.
 * Without a file and a provider key the services may have other settings: then the answer is undefined.
 */
export function createConfigurationReader({
  path,
  env,
  stored,
}: {
  path: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The configuration in the database, where that has it. */
  stored?: StoredConfiguration | undefined;
}): ReadConfiguration {
  /** A text that did not change is not read again: a file of a thousand models takes a second. */
  let last: { readonly revision: string; readonly configuration: Configuration } | undefined;
  return async () => {
    try {
      const source = { path, env, stored, placeholder: PLACEHOLDER };
      const { text, env: variables, revision } = await readConfiguration(source);
      if (last === undefined || last.revision !== revision)
        last = { revision, configuration: await configurationFromText(text, { ...source, env: variables }) };
      const { configuration } = last;
      return configuration.source === 'simulator' && !env.SIMULATOR_URL ? undefined : configuration;
    } catch (error) {
      if (error instanceof ConfigurationError) return undefined;
      throw error;
    }
  };
}
