import { stat } from 'node:fs/promises';
import type { Environment } from '@gateway/contracts/environment';
import { lookUp } from '@gateway/contracts/look-up';
import { type Configuration, revisionOf } from '@gateway/upstream/configuration/configuration';
import { variablesIn } from '@gateway/upstream/configuration/expand-variables';
import {
  configurationFromText,
  readConfigurationText,
} from '@gateway/upstream/configuration/load-configuration';
import {
  ConfigurationError,
  type Mistake,
} from '@gateway/upstream/configuration/mistakes/configuration-error';
import type { StoredConfiguration } from '@gateway/upstream/configuration/stored/stored-configuration';
import { PLACEHOLDER } from './read-configuration.ts';

interface ConfigurationStateOptions {
  readonly path: string;
  readonly env: Environment;
  /** The configuration in the database, where that has it. */
  readonly stored?: StoredConfiguration | undefined;
}

/** What a configuration text comes to. */
export interface CheckedConfiguration {
  readonly configuration: Configuration | null;
  /** In the order of the text. */
  readonly mistakes: readonly Mistake[];
  /** Variables that the text names and whose values this process did not use: it takes them as set. */
  readonly unknownVariables: readonly string[];
}

/** The configuration file as it is now: the services follow it. */
export interface ConfigurationState extends CheckedConfiguration {
  readonly source: Configuration['source'] | 'database';
  readonly path: string;
  /** Without secrets; null where there is no file, or it has mistakes. */
  readonly text: string | null;
  /** When the file was changed last, in Unix milliseconds; null without a file. */
  readonly changedAtMs: number | null;
  /** Its number, where the database has it. */
  readonly revision: number | null;
}

type FoundInText = CheckedConfiguration & Pick<ConfigurationState, 'text'>;

/** Reads the file as it is now. */
export type ReadState = () => Promise<ConfigurationState>;

export function createConfigurationState({ path, env, stored }: ConfigurationStateOptions): ReadState {
  /** What the text came to that was read last: one that did not change is not read again. */
  let last: { readonly revision: string; readonly found: FoundInText } | undefined;
  const findIn = async (text: string, variables: Environment): Promise<FoundInText> => {
    const found = await checked(() =>
      configurationFromText(text, { path, env: variables, placeholder: PLACEHOLDER }),
    );
    return {
      unknownVariables: variablesIn(text).filter((name) => !lookUp(variables, name)),
      ...found,
      text: found.configuration === null ? null : await masked(text),
    };
  };
  return async () => {
    const inDatabase = await stored?.read();
    if (inDatabase) {
      const { text, revision, env: variables, number, atMs } = inDatabase;
      if (last?.revision !== revision) last = { revision, found: await findIn(text, variables) };
      return { source: 'database', path, changedAtMs: atMs, revision: number, ...last.found };
    }
    const file = await stat(path).catch(() => null);
    const changedAtMs = file === null ? null : Math.round(file.mtimeMs);
    let text: string | null;
    try {
      text = await readConfigurationText({ path, env });
    } catch (error) {
      const mistakes = mistakesOf(error);
      return {
        source: 'file',
        path,
        text: null,
        changedAtMs,
        configuration: null,
        mistakes,
        unknownVariables: [],
        revision: null,
      };
    }
    if (text === null) {
      const found = await checked(() => configurationFromText(null, { path, env }));
      const source = found.configuration?.source ?? 'environment';
      return { source, path, text: null, changedAtMs: null, revision: null, unknownVariables: [], ...found };
    }
    const revision = revisionOf(text);
    if (last?.revision !== revision) last = { revision, found: await findIn(text, env) };
    return { source: 'file', path, changedAtMs, revision: null, ...last.found };
  };
}

/** What reads YAML is loaded only where there is a file. */
async function masked(text: string): Promise<string> {
  const { maskedConfiguration } = await import('@gateway/upstream/configuration/masked-configuration');
  return maskedConfiguration(text);
}

/** What building a configuration comes to. */
export async function checked(
  build: () => Promise<Configuration>,
): Promise<Pick<CheckedConfiguration, 'configuration' | 'mistakes'>> {
  try {
    return { configuration: await build(), mistakes: [] };
  } catch (error) {
    return { configuration: null, mistakes: mistakesOf(error) };
  }
}

/** @throws what is no mistake of the configuration */
function mistakesOf(error: unknown): readonly Mistake[] {
  if (error instanceof ConfigurationError) return error.mistakes;
  throw error;
}
