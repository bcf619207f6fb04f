import type { Environment } from '@gateway/contracts/environment';
import { freePort, isFreePort } from '@gateway/redis-server/free-port';
import { StartError } from '../start-error.ts';

export interface PortSetting {
  readonly variable: string;
  readonly fallback: number;
}

/** `fixed`: the configured or usual ports, as a person expects; `free`: any free ones, for several stacks at once. */
export type PortChoice = 'fixed' | 'free';

export interface PortChooser {
  /** For callers: the configured or the usual one, even if it is taken; its process then reports that. */
  public(setting: PortSetting): Promise<number>;
  /** For the stack's own processes, before they run: a free one if the usual one is taken. */
  internal(setting: PortSetting): Promise<number>;
  /** The port for processes that report their port once they listen; 0 means any. */
  reported(rows: readonly { readonly port: PortSetting | null }[]): Promise<Record<string, number>>;
}

interface PortChooserOptions {
  readonly choice: PortChoice;
  readonly env: Environment;
  /** Called for each port that was taken, with a sentence. */
  readonly report: (line: string) => void;
}

export function createPortChooser({ choice, env, report }: PortChooserOptions): PortChooser {
  const internal = async (setting: PortSetting): Promise<number> => {
    if (choice === 'free') return 0;
    const { variable, fallback } = setting;
    const port = configuredPort(setting, env);
    if (env[variable] || (await isFreePort(port))) return port;
    const other = await freePort();
    report(`Port ${fallback} is taken; using ${other} instead. Set ${variable} to choose another one.`);
    return other;
  };
  const known = async (port: number): Promise<number> => (port === 0 ? await freePort() : port);
  return {
    public: async (setting) => known(choice === 'free' ? 0 : configuredPort(setting, env)),
    internal: async (setting) => known(await internal(setting)),
    reported: async (rows) => {
      const ports: Record<string, number> = {};
      for (const { port } of rows) if (port !== null) ports[port.variable] = await internal(port);
      return ports;
    },
  };
}

/** @throws StartError for what is no port */
export const configuredPort = ({ variable, fallback }: PortSetting, env: Environment): number => {
  const text = env[variable];
  if (!text) return fallback;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new StartError(`${variable} must be a port number from 0 to 65535.`);
};
