import { expect, test } from 'vitest';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const CHANNELS = 'channels:\n  sim: { provider: simulator }\n';
const MODELS = 'models:\n  a: { kind: text, routes: [{ channel: sim }] }\n';

test.for([
  ['a channel', `${CHANNELS}  __proto__: { provider: simulator }\n${MODELS}`, 3],
  ['a model', `${CHANNELS}${MODELS}  __proto__: { kind: text, routes: [{ channel: sim }] }\n`, 5],
] as const)('%s named __proto__ is a mistake with its line, not left out', ([, text, line]) => {
  expect(() => parseConfiguration(text, 'gateway.yaml', {})).toThrow(ConfigurationError);
  expect(() => parseConfiguration(text, 'gateway.yaml', {})).toThrow(
    new RegExp(`:${line}\\b|line ${line}\\b`),
  );
});
