import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { variablesIn } from '@gateway/upstream/configuration/expand-variables';
import { configurationFromText } from '@gateway/upstream/configuration/load-configuration';
import { UnboundedConfiguration } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { type CheckedConfiguration, checked } from './configuration-state.ts';
import { PLACEHOLDER } from './read-configuration.ts';

/** A text from a browser is checked without any variable's value, so that no answer depends on one. */
const NO_VARIABLES = {};

/**
 * What a text from a browser comes to. For threads: it may take long.
 *
 * @param path the file that mistakes name
 * @throws {GatewayError} `invalid_value` for a text that is refused before it is read
 */
export async function checkedText(text: string, path: string): Promise<CheckedConfiguration> {
  const found = await checked(() => build(text, path));
  return { unknownVariables: variablesIn(text), ...found };
}

async function build(text: string, path: string): Promise<Configuration> {
  try {
    return await configurationFromText(text, { path, env: NO_VARIABLES, placeholder: PLACEHOLDER });
  } catch (error) {
    if (!(error instanceof UnboundedConfiguration)) throw error;
    const [mistake] = error.mistakes;
    const message = `Invalid value for 'text': found ${mistake?.found}, expected ${mistake?.expected}.`;
    throw new GatewayError('invalid_value', { message, path: ['text'] });
  }
}
