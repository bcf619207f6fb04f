import { readFile as readFromDisk } from 'node:fs/promises';
import type { Configuration } from './configuration.ts';
import { environmentConfiguration } from './environment-configuration.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

export interface ConfigurationSource {
  /** Where the file is looked for. */
  readonly path: string;
  /** Values for `${NAME}`. A set `GATEWAY_CONFIG` means that the file must exist. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws an error with the code `ENOENT` where there is no file. */
  readonly readFile?: (path: string) => Promise<string>;
}

const MAX_CHARS = 4_000_000;

const wholeFile = (path: string, found: string, expected: string): ConfigurationError =>
  new ConfigurationError(path, [{ line: null, column: null, path: '', found, expected }]);

export const noSuchFile = (path: string): ConfigurationError =>
  wholeFile(path, 'no such file', 'the configuration that GATEWAY_CONFIG names, or that was there before');

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';

/** The file's text; null if there is none and `GATEWAY_CONFIG` is not set. */
export const readConfigurationText = async (source: ConfigurationSource): Promise<string | null> => {
  const readFile = source.readFile ?? ((path: string) => readFromDisk(path, 'utf8'));
  try {
    const text = await readFile(source.path);
    if (text.length > MAX_CHARS)
      throw wholeFile(source.path, 'a file of this size', `at most ${MAX_CHARS} characters`);
    return text;
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const code = codeOf(error);
    if (code === 'ENOENT' && !source.env.GATEWAY_CONFIG) return null;
    if (code === 'ENOENT') throw noSuchFile(source.path);
    throw wholeFile(source.path, `a file that cannot be read (${code})`, 'a file that this process may read');
  }
};

export const configurationFromText = (text: string | null, source: ConfigurationSource): Configuration =>
  text === null ? environmentConfiguration(source.env) : parseConfiguration(text, source.path, source.env);

/**
 * The configuration: from the file, else from provider keys in the environment, else the simulator; see `source`.
 * Throws a `ConfigurationError` that names every mistake.
 */
export const loadConfiguration = async (source: ConfigurationSource): Promise<Configuration> =>
  configurationFromText(await readConfigurationText(source), source);
