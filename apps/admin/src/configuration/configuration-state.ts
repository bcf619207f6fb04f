import { stat } from 'node:fs/promises';
import { lookUp } from '@gateway/contracts/look-up';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import {
  configurationFromText,
  readConfigurationText,
} from '@gateway/upstream/configuration/load-configuration';
import { maskedConfiguration } from '@gateway/upstream/configuration/masked-configuration';
import {
  ConfigurationError,
  type Mistake,
} from '@gateway/upstream/configuration/mistakes/configuration-error';
import { withPlaceholders } from './read-configuration.ts';

interface ConfigurationStateOptions {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a configuration text comes to. */
export interface CheckedConfiguration {
  readonly configuration: Configuration | null;
  /** In the order of the text. */
  readonly mistakes: readonly Mistake[];
  /** Variables that the text names and that this process does not have: it takes them as set. */
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

export interface ConfigurationReader {
  /** The file as it is now. */
  read(): Promise<ConfigurationState>;
  /** Checks a text as the services would. Applies nothing. */
  check(text: string): CheckedConfiguration;
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** What a mistake found there may be a secret. */
const SECRET_PATH = /(^|\.)(apiKeys?|headers)(\.|\[|$)/;

const withoutSecret = (mistake: Mistake): Mistake =>
  SECRET_PATH.test(mistake.path) ? { ...mistake, found: 'a value that is not shown' } : mistake;

export function createConfigurationState({ path, env }: ConfigurationStateOptions): ConfigurationReader {
  const check = (text: string): CheckedConfiguration => {
    const named = [...new Set([...text.matchAll(VARIABLE)].map(([, name = '']) => name))];
    const unknownVariables = named.filter((name) => !lookUp(env, name)).toSorted();
    return {
      unknownVariables,
      ...checked(() => configurationFromText(text, { path, env: withPlaceholders(env, text) })),
    };
  };

  return {
    check,
    read: async () => {
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
        const found = checked(() => configurationFromText(null, { path, env }));
        const source = found.configuration?.source ?? 'environment';
        return { source, path, text: null, changedAtMs: null, unknownVariables: [], ...found };
      }
      const found = check(text);
      const shown = found.configuration === null ? null : maskedConfiguration(text);
      return { source: 'file', path, text: shown, changedAtMs, ...found };
    },
  };
}

function checked(build: () => Configuration): Pick<CheckedConfiguration, 'configuration' | 'mistakes'> {
  try {
    return { configuration: build(), mistakes: [] };
  } catch (error) {
    return { configuration: null, mistakes: mistakesOf(error) };
  }
}

/** @throws what is no mistake of the configuration */
function mistakesOf(error: unknown): readonly Mistake[] {
  if (error instanceof ConfigurationError) return error.mistakes.map(withoutSecret);
  throw error;
}
