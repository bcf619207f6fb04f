import { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import {
  configurationFromText,
  readConfigurationText,
} from '@gateway/upstream/configuration/load-configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';

/** The channels and models of the current configuration; undefined if it cannot be read. */
export type ReadConfiguration = () => Promise<Configuration | undefined>;

/** @throws {GatewayError} `service_unavailable` if it cannot be read */
export async function configurationOf(readConfiguration: ReadConfiguration): Promise<Configuration> {
  const configuration = await readConfiguration();
  if (configuration !== undefined) return configuration;
  throw new GatewayError(
    'service_unavailable',
    'The configuration file cannot be read or has mistakes; the services go on with the one before. Their logs name each mistake.',
  );
}

/** Replaces variables that this process does not have, such as providers' keys. */
const PLACEHOLDER = 'known-to-the-services';

/**
 * The admin service shows the configuration and calls no provider, so it can do without the providers' keys.
 * Without a file and a provider key the services may have other settings: then the answer is undefined.
 */
export function createConfigurationReader({
  path,
  env,
}: {
  path: string;
  env: Readonly<Record<string, string | undefined>>;
}): ReadConfiguration {
  return async () => {
    try {
      const text = await readConfigurationText({ path, env });
      const source = { path, env: text === null ? env : withPlaceholders(env, text) };
      const configuration = configurationFromText(text, source);
      return configuration.source === 'simulator' && !env.SIMULATOR_URL ? undefined : configuration;
    } catch (error) {
      if (error instanceof ConfigurationError) return undefined;
      throw error;
    }
  };
}

/** The variables that a text names, with values for those that this process does not have. */
export function withPlaceholders(env: Readonly<Record<string, string | undefined>>, text: string) {
  const named = [...text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name = '']) => name);
  return Object.fromEntries(named.map((name) => [name, lookUp(env, name) || PLACEHOLDER]));
}
