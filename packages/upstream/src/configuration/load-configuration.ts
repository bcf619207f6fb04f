import { readFile as readFromDisk } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';
import { errorMessage } from '@gateway/contracts/error-message';
import { type Configuration, revisionOf } from './configuration.ts';
import { environmentConfiguration } from './environment-configuration.ts';
import { ConfigurationError, type Mistake } from './mistakes/configuration-error.ts';
import { shownPath } from './mistakes/mistake-list.ts';
import type { StoredConfiguration } from './stored/stored-configuration.ts';

export interface ConfigurationSource {
  /** Where the file is looked for. */
  readonly path: string;
  /** Values for `${NAME}`. A set `GATEWAY_CONFIG` means that the file must exist. */
  readonly env: Environment;
  /** Stands for variables that `env` does not have; see `parseConfiguration`. */
  readonly placeholder?: string;
  /** Throws an error with the code `ENOENT` where there is no file. */
  readonly readFile?: (path: string) => Promise<string>;
  /** The configuration in the database; absent, or while there is none: the file. */
  readonly stored?: StoredConfiguration | undefined;
}

/** A configuration's text, and what `${NAME}` in it stands for. */
interface ConfigurationText {
  /** Null: there is no file. */
  readonly text: string | null;
  readonly env: Environment;
  /** Changes whenever what it means may have. */
  readonly revision: string;
}

/** @throws {ConfigurationError} for a file that cannot be read */
export async function readConfiguration(source: ConfigurationSource): Promise<ConfigurationText> {
  const stored = await source.stored?.read();
  if (stored) return stored;
  const text = await readConfigurationText(source);
  return { text, env: source.env, revision: text === null ? '' : revisionOf(text) };
}

const MAX_CHARS = 4_000_000;

const readText = (path: string): Promise<string> => readFromDisk(path, 'utf8');

const wholeFile = (path: string, found: string, expected: string): ConfigurationError =>
  new ConfigurationError(path, [{ line: null, column: null, path: '', found, expected }]);

export const noSuchFile = (path: string): ConfigurationError =>
  wholeFile(path, 'no such file', 'the configuration that GATEWAY_CONFIG names, or that was there before');

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';

/** The file's text; null if there is none and `GATEWAY_CONFIG` is not set. */
export const readConfigurationText = async (source: ConfigurationSource): Promise<string | null> => {
  const { readFile = readText } = source;
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

/** Without a file neither the schemas of one nor what reads YAML is loaded. */
export async function configurationFromText(
  text: string | null,
  source: ConfigurationSource,
): Promise<Configuration> {
  if (text === null) return environmentConfiguration(source.env);
  const { parseConfiguration } = await import('./parse-configuration.ts');
  return parseConfiguration(text, source.path, source.env, source.placeholder);
}

/**
 * The configuration: from the file, else from provider keys in the environment, else the simulator; see `source`.
 * Throws a `ConfigurationError` that names every mistake.
 */
export async function loadConfiguration(source: ConfigurationSource): Promise<Configuration> {
  const { text, env, revision } = await readConfiguration(source);
  const configuration = await configurationFromText(text, { ...source, env });
  return withCertificates({ ...configuration, revision }, source);
}

/**
 * Reads the certificates that a configuration's channels name.
 *
 * @throws {ConfigurationError} for every file that cannot be read
 */
export async function withCertificates(
  configuration: Configuration,
  { path, readFile = readText }: ConfigurationSource,
): Promise<Configuration> {
  const mistakes: Mistake[] = [];
  for (const { name, network } of configuration.channels.values()) {
    const { certificates } = network;
    if (certificates === null) continue;
    try {
      await certificates.load((file) => readFile(resolve(dirname(path), file)));
    } catch (error) {
      // The system's own words name the file, which may come from the environment.
      const isOfSystem = error instanceof Error && 'code' in error;
      const reason = isOfSystem ? codeOf(error) : errorMessage(error);
      mistakes.push({
        line: null,
        column: null,
        path: shownPath(['channels', name, 'caFile']),
        found: `a file that cannot be used (${reason})`,
        expected: 'a file with certificates of authorities, as PEM',
      });
    }
  }
  if (mistakes.length > 0) throw new ConfigurationError(path, mistakes);
  return configuration;
}
