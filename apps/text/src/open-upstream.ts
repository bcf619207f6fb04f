import { ConfigError } from '@gateway/contracts/config-error';
import type { Life } from '@gateway/service-kit/life';
import { ConfigurationError } from '@gateway/upstream/configuration/configuration-error';
import { loadConfiguration } from '@gateway/upstream/configuration/load-configuration';
import { watchConfiguration } from '@gateway/upstream/configuration/watch-configuration';
import type { Attempt } from '@gateway/upstream/reply';
import { createUpstream, type Upstream } from '@gateway/upstream/upstream';

interface OpenUpstreamOptions {
  readonly life: Life;
  /** The configuration file. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onAttempt: (attempt: Attempt) => void;
}

/**
 * The providers, as the configuration file has them now and whenever it changes.
 *
 * @throws {ConfigError} naming every mistake of the file
 */
export async function openUpstream({ life, path, env, onAttempt }: OpenUpstreamOptions): Promise<Upstream> {
  const source = { path, env };
  const configuration = await loadConfiguration(source).catch((error: unknown) => {
    throw error instanceof ConfigurationError ? new ConfigError(error.message) : error;
  });
  const upstream = life.own(createUpstream({ configuration, onAttempt }), (open) => open.destroy());
  const watch = watchConfiguration({
    ...source,
    current: configuration,
    onChange: (next) => {
      upstream.replace(next);
      life.logger.info('the configuration has changed');
    },
    onMistake: (error) => {
      const reason = error instanceof Error ? error.message : String(error);
      life.logger.error({ reason }, 'the changed configuration is not usable; the one before stays in force');
    },
  });
  life.own(watch, (open) => open.close());
  return upstream;
}
