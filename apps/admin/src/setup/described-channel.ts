import type { Environment } from '@gateway/contracts/environment';
import type { Channel } from '@gateway/upstream/configuration/configuration';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { Document } from 'yaml';

/**
 * The channel that the gateway makes of an entry of the configuration's `channels`.
 *
 * @throws {ConfigurationError} for an entry with mistakes
 */
export function describedChannel(name: string, entry: object, env: Environment): Channel {
  const text = new Document({ channels: { [name]: entry }, models: {} }).toString();
  const channel = parseConfiguration(text, 'gateway.yaml', env).channels.get(name);
  if (channel === undefined) throw new Error(`no channel ${name}`);
  return channel;
}
