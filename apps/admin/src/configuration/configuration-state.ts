import { stat } from 'node:fs/promises';
import type { Environment } from '@gateway/contracts/environment';
import { lookUp } from '@gateway/contracts/look-up';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { variablesIn } from '@gateway/upstream/configuration/expand-variables';
import {
  configurationFromText,
  readConfigurationText,
} from '@gateway/upstream/configuration/load-configuration';
import {
  ConfigurationError,
  type Mistake,
} from '@gateway/upstream/configuration/mistakes/configuration-error';
import { PLACEHOLDER } from './read-configuration.ts';

interface ConfigurationStateOptions {
  readonly path: string;
  readonly env: Environment;
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
  readonly source: Configuration['source'];
  readonly path: string;
  /** Without secrets; null where there is no file, or it has mistakes. */
  readonly text: string | null;
  /** When the file was changed last, in Unix milliseconds; null without a file. */
  readonly changedAtMs: number | null;
}

type FoundInText = CheckedConfiguration & Pick<ConfigurationState, 'text'>;

/** Reads the file as it is now. */
export type ReadState = () => Promise<ConfigurationState>;

export function createConfigurationState({ path, env }: ConfigurationStateOptions): ReadState {
  /** What the text came to that was read last: one that did not change is not read again. */
  let last: { readonly text: string; readonly found: FoundInText } | undefined;
  const findIn = async (text: string): Promise<FoundInText> => {
    const found = await checked(() => configurationFromText(text, { path, env, placeholder: PLACEHOLDER }));
    return {
      unknownVariables: variablesIn(text).filter((name) => !lookUp(env, name)),
      ...found,
      text: found.configuration === null ? null : await masked(text),
    };
  };
  return async () => {
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
      };
    }
    if (text === null) {
      const found = await checked(() => configurationFromText(null, { path, env }));
      const source = found.configuration?.source ?? 'environment';
      return { source, path, text: null, changedAtMs: null, unknownVariables: [], ...found };
    }
    if (last?.text !== text) last = { text, found: await findIn(text) };
    return { source: 'file', path, changedAtMs, ...last.found };
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
