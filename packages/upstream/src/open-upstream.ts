import { loadConfiguration } from './configuration/load-configuration.ts';
import { watchConfiguration } from './configuration/watch-configuration.ts';
import type { Attempt } from './reply.ts';
import { createUpstream, type Upstream } from './upstream.ts';

interface OpenUpstreamOptions {
  /** The configuration file. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: {
    info(message: string): void;
    error(fields: { reason: string }, message: string): void;
  };
  readonly onAttempt?: (attempt: Attempt) => void;
}

export interface OpenUpstream {
  readonly upstream: Upstream;
  /** Aborts the requests in flight, and stops watching the file. */
  close(): Promise<void>;
}

/**
 * The providers of the configuration file, updated when it changes.
 *
 * @throws {ConfigurationError} naming every mistake of the file
 */
export async function openUpstream({
  path,
  env,
  logger,
  onAttempt,
}: OpenUpstreamOptions): Promise<OpenUpstream> {
  const configuration = await loadConfiguration({ path, env });
  const upstream = createUpstream({ configuration, ...(onAttempt === undefined ? {} : { onAttempt }) });
  const watch = watchConfiguration({
    path,
    env,
    current: configuration,
    onChange: (next) => {
      upstream.replace(next);
      logger.info('the configuration has changed');
    },
    onMistake: (error) => {
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ reason }, 'the changed configuration is not usable; the one before stays in force');
    },
  });
  return {
    upstream,
    close: async () => {
      watch.close();
      await upstream.destroy();
    },
  };
}
