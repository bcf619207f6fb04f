import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { type Stack, type StackOptions, startStack } from '@gateway/stack/start-stack';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import OpenAI from 'openai';
import { ONE_PROVIDER } from './configuration.ts';

/** However often a test ends a process, it need not wait longer for the next one. */
const RESTARTS = { maxDelayMs: 200 };

/**
 * Default of `mode`: `one`. A story that kills or scales a single service needs `each`. Of `services` admin is always one: without it
 * Redis has no keys.
 */
export interface GatewayOptions extends Pick<StackOptions, 'mode' | 'services' | 'replicas' | 'restarts'> {
  /** YAML, given the provider's origin. Default: `ONE_PROVIDER`. */
  readonly configuration?: (origin: string) => string;
  readonly env?: StackOptions['env'];
  /** Puts something into the data folder before the gateway is started on it. */
  readonly prepare?: (dataFolder: string) => Promise<void>;
}

/** The processes of a gateway, and a provider in the test's own process that it can script and look into. */
export interface Gateway {
  readonly stack: Stack;
  readonly mode: NonNullable<StackOptions['mode']>;
  readonly simulator: Simulator;
  readonly url: string;
  readonly key: string;
  /** Official clients, which repeat nothing by themselves. */
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly configurationPath: string;
  readonly dataFolder: string;
  /** Every line that a service or worker wrote, ended ones included, by its name, whatever process it runs in. */
  readonly lines: readonly { readonly process: string; readonly text: string }[];
  /** A request with the key. */
  fetch(path: string, init?: GatewayRequest): Promise<Response>;
  close(): Promise<void>;
}

export interface GatewayRequest extends Omit<RequestInit, 'headers'> {
  /** Becomes a JSON body. As `body` does, it makes the request a POST. */
  readonly json?: unknown;
  readonly headers?: Record<string, string>;
}

/** Starts a gateway of the test's own, on free ports. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const resources = new AsyncDisposableStack();
  try {
    const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
    const simulator = resources.adopt(await startSimulator(), (owned) => owned.close());
    const configurationPath = join(folder.path, 'gateway.yaml');
    await writeFile(configurationPath, (options.configuration ?? ONE_PROVIDER)(simulator.url));

    const dataFolder = join(folder.path, 'data');
    await options.prepare?.(dataFolder);
    const lines: { process: string; text: string }[] = [];
    const { mode = 'one', services, replicas, restarts = RESTARTS } = options;
    const stack = resources.adopt(
      await startStack({
        dataDir: dataFolder,
        configurationPath,
        env: { SIMULATOR_URL: simulator.url, DRAIN_TIMEOUT_MS: '5000', ...options.env },
        mode,
        restarts,
        onLines: (process, texts) => {
          for (const text of texts)
            lines.push({ process: mode === 'one' ? partOf(text, process) : process, text });
        },
        ...(services ? { services: [...services, 'admin'] } : {}),
        ...(replicas ? { replicas } : {}),
      }),
      (owned) => owned.stop(),
    );
    const { edgeUrl: url, key } = stack;
    return {
      stack,
      mode,
      simulator,
      url,
      key,
      openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }),
      anthropic: new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 }),
      configurationPath,
      dataFolder,
      lines,
      fetch: (path, init = {}) => fetch(`${url}${path}`, requestOf(init, key)),
      close: () => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

/** The part of a process that wrote a line. */
const partOf = (text: string, process: string): string => /"service":"([\w-]+)"/.exec(text)?.[1] ?? process;

function requestOf({ json, headers, ...init }: GatewayRequest, key: string): RequestInit {
  const all = {
    authorization: `Bearer ${key}`,
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  if (json !== undefined) return { method: 'POST', ...init, headers: all, body: JSON.stringify(json) };
  return { ...(init.body == null ? {} : { method: 'POST' }), ...init, headers: all };
}
