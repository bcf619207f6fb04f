import { unwatchFile, watchFile } from 'node:fs';
import type { Configuration } from './configuration.ts';
import {
  type ConfigurationSource,
  configurationFromText,
  noSuchFile,
  readConfiguration,
  withCertificates,
} from './load-configuration.ts';

export interface WatchOptions extends ConfigurationSource {
  /** The current configuration, from `loadConfiguration`. */
  readonly current: Configuration;
  /** How often the file is read; 1000 by default. */
  readonly intervalMs?: number;
  /** The file changed and is valid: this is the new configuration. */
  readonly onChange: (configuration: Configuration) => void;
  /** The file changed and is not valid (a `ConfigurationError`). The current configuration stays. */
  readonly onMistake: (error: unknown) => void;
}

export interface ConfigurationWatch {
  close(): void;
}

/**
 * Follows the configuration while the process runs: the file, or what the database has. It polls, because that also sees editors that replace the
 * file and changes that are made outside a container.
 */
export const watchConfiguration = (options: WatchOptions): ConfigurationWatch => {
  const { intervalMs = 1_000, current, path } = options;
  let seen = current.revision;
  let hadFile = current.source === 'file';
  let suspected: string | null = null;
  let closed = false;
  let reading = Promise.resolve();
  let again: NodeJS.Timeout | undefined;

  /** A file that is being written is invalid for a moment: only a file that stays invalid is reported. */
  const suspect = (revision: string, error: unknown): void => {
    if (suspected === revision) {
      seen = revision;
      options.onMistake(error);
      return;
    }
    suspected = revision;
    again = setTimeout(look, intervalMs);
  };

  const read = async (): Promise<void> => {
    let revision = 'unreadable';
    try {
      const found = await readConfiguration(options);
      const { text, env } = found;
      if (closed) return;
      if (text === null && hadFile) throw noSuchFile(path);
      hadFile ||= text !== null;
      revision = found.revision;
      if (revision === seen) return;
      const configuration = await withCertificates(
        await configurationFromText(text, { ...options, env }),
        options,
      );
      if (closed) return;
      seen = revision;
      options.onChange(configuration);
    } catch (error) {
      if (!closed && revision !== seen) suspect(revision, error);
    }
  };
  const look = (): void => {
    clearTimeout(again);
    reading = reading.then(read);
  };
  // What is stored in the database is asked for; a file says itself that it has changed.
  const asking = options.stored && setInterval(look, intervalMs).unref();
  if (asking === undefined) watchFile(path, { interval: intervalMs, persistent: false }, look);
  look();
  return {
    close: () => {
      closed = true;
      clearTimeout(again);
      clearInterval(asking);
      if (asking === undefined) unwatchFile(path, look);
    },
  };
};
