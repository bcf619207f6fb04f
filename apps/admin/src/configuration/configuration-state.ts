import { stat } from 'node:fs/promises';
import type { Environment } from '@gateway/contracts/environment';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { variablesIn } from '@gateway/upstream/configuration/expand-variables';
import {
  configurationFromText,
  readConfigurationText,
} from '@gateway/upstream/configuration/load-configuration';
import { maskedConfiguration } from '@gateway/upstream/configuration/masked-configuration';
import {
  ConfigurationError,
  type Mistake,
  UnboundedConfiguration,
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

export interface ConfigurationReader {
  /** The file as it is now. */
  read(): Promise<ConfigurationState>;
  /**
   * Checks a text as the services would, but for what its variables hold. Applies nothing.
   *
   * @throws {GatewayError} `invalid_value` for a text that is refused before it is read
   */
  check(text: string): CheckedConfiguration;
}

/** A text from a browser is checked without any variable's value, so that no answer depends on one. */
const NO_VARIABLES = {};

export function createConfigurationState({ path, env }: ConfigurationStateOptions): ConfigurationReader {
  const build = (text: string, known: Environment) =>
    configurationFromText(text, { path, env: known, placeholder: PLACEHOLDER });
  const unknownIn = (text: string, known: Environment) =>
    variablesIn(text).filter((name) => !lookUp(known, name));

  return {
    check: (text) => ({
      unknownVariables: unknownIn(text, NO_VARIABLES),
      ...checked(() => bounded(() => build(text, NO_VARIABLES))),
    }),
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
      const found = { unknownVariables: unknownIn(text, env), ...checked(() => build(text, env)) };
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

/** @throws {GatewayError} `invalid_value` for a text that is refused before it is read */
function bounded(build: () => Configuration): Configuration {
  try {
    return build();
  } catch (error) {
    if (!(error instanceof UnboundedConfiguration)) throw error;
    const [mistake] = error.mistakes;
    const message = `Invalid value for 'text': found ${mistake?.found}, expected ${mistake?.expected}.`;
    throw new GatewayError('invalid_value', { message, path: ['text'] });
  }
}

/** @throws what is no mistake of the configuration */
function mistakesOf(error: unknown): readonly Mistake[] {
  if (error instanceof ConfigurationError) return error.mistakes;
  throw error;
}
