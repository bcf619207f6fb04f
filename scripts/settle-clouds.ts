/**
 * Asks the clouds of a configuration what their documentation leaves open, by small requests that cost a few cents, and prints
 * what it found and what to set:  npm run clouds -- --config gateway.yaml [--channel NAME] [--list]
 */
import { parseArgs } from 'node:util';
import { loadConfiguration } from '@gateway/upstream/configuration/load-configuration';
import { settle } from './clouds/settle.ts';

const { values } = parseArgs({
  options: {
    config: { type: 'string', default: 'gateway.yaml' },
    channel: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

const { config: path, channel, list } = values;
const env = { ...process.env, GATEWAY_CONFIG: path };
const configuration = await loadConfiguration({ path, env });
if (channel !== undefined && !configuration.channels.has(channel))
  throw new Error(`${path} has no channel ${channel}`);
await settle({
  configuration,
  only: channel ?? null,
  listsOnly: list,
  print: (line) => process.stdout.write(`${line}\n`),
});
