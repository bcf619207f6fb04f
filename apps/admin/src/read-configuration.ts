import { lookUp } from '@gateway/contracts/look-up';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/configuration-error';
import {
  configurationFromText,
  readConfigurationText,
} from '@gateway/upstream/configuration/load-configuration';

/** The channels and models as they are configured now; undefined if that cannot be read. */
export type ReadConfiguration = () => Promise<Configuration | undefined>;

/** Stands for what the environment of this process does not hold, which is as it should be with providers' keys. */
const ELSEWHERE = 'known-to-the-services';

/**
 * The admin service shows the configuration and calls no provider, so it can do without the providers' keys.
 * Where there is no file and it knows of no provider, the services may know more: then it says nothing.
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

function withPlaceholders(env: Readonly<Record<string, string | undefined>>, text: string) {
  const named = [...text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name = '']) => name);
  return Object.fromEntries(named.map((name) => [name, lookUp(env, name) || ELSEWHERE]));
}
