import { GatewayError } from '@gateway/contracts/gateway-error';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { variablesIn } from '@gateway/upstream/configuration/expand-variables';
import { configurationFromText } from '@gateway/upstream/configuration/load-configuration';
import { UnboundedConfiguration } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { shownCheck } from './check-text.ts';
import { checked } from './configuration-state.ts';
import { PLACEHOLDER } from './read-configuration.ts';

export interface CheckTask {
  readonly text: string;
  /** The file that mistakes name. */
  readonly path: string;
}

/** A text from a browser is checked without any variable's value, so that no answer depends on one. */
const NO_VARIABLES = {};

serveTasks(async ({ text, path }: CheckTask) => {
  const found = await checked(() => build(text, path));
  return { result: shownCheck({ unknownVariables: variablesIn(text), ...found }) };
});

/** @throws {GatewayError} `invalid_value` for a text that is refused before it is read */
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
