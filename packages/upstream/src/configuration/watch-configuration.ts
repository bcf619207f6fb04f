import { unwatchFile, watchFile } from 'node:fs';
import type { Configuration } from './configuration.ts';
import {
  type ConfigurationSource,
  configurationFromText,
  noSuchFile,
  readConfigurationText,
} from './load-configuration.ts';
import { revisionOf } from './parse-configuration.ts';

export interface WatchOptions extends ConfigurationSource {
  /** What is in force now, as `loadConfiguration` gave it. */
  readonly current: Configuration;
  /** How often the file is looked at; 1000 by default. */
  readonly intervalMs?: number;
  /** The file changed and is valid: this is in force from now on. */
  readonly onChange: (configuration: Configuration) => void;
  /** The file changed and is not valid (a `ConfigurationError`). What was in force stays. */
  readonly onMistake: (error: unknown) => void;
}

export interface ConfigurationWatch {
  close(): void;
}

/**
 * Follows the configuration file while the process runs. It polls, because that also sees editors that replace the
 * file and changes that are made outside a container.
 */
export const watchConfiguration = (options: WatchOptions): ConfigurationWatch => {
  let seen = options.current.revision;
  let hadFile = options.current.source === 'file';
  let closed = false;
  let reading = Promise.resolve();

  const read = async (): Promise<void> => {
    if (closed) return;
    try {
      const text = await readConfigurationText(options);
      if (text === null && hadFile) throw noSuchFile(options.path);
      hadFile ||= text !== null;
      const revision = text === null ? '' : revisionOf(text);
      if (closed || revision === seen) return;
      seen = revision;
      options.onChange(configurationFromText(text, options));
    } catch (error) {
      if (!closed) options.onMistake(error);
    }
  };
  const look = (): void => {
    reading = reading.then(read);
  };
  watchFile(options.path, { interval: options.intervalMs ?? 1_000, persistent: false }, look);
  look();
  return {
    close: () => {
      closed = true;
      unwatchFile(options.path, look);
    },
  };
};
