import { freePort } from '@gateway/redis-server/free-port';
import type { Environment } from './environment.ts';
import { StartError } from './start-error.ts';

export interface PortSetting {
  readonly variable: string;
  readonly fallback: number;
}

/** `fixed`: the configured or usual ports, as a person expects; `free`: whatever is free, for stacks side by side. */
export type PortChoice = 'fixed' | 'free';

/** A port that must be known before its process runs. */
export async function knownPort(setting: PortSetting, choice: PortChoice, env: Environment): Promise<number> {
  const port = choice === 'free' ? 0 : configuredPort(setting, env);
  return port === 0 ? await freePort() : port;
}

/** A port that its process reports once it listens: 0 means any. */
export const configuredPort = ({ variable, fallback }: PortSetting, env: Environment): number => {
  const text = env[variable];
  if (!text) return fallback;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new StartError(`${variable} must be a port number from 0 to 65535.`);
};
