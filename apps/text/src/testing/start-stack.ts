import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { type StartOptions, startText, type TextUnderTest } from './start-text.ts';

interface StackOptions extends Pick<StartOptions, 'webSockets' | 'load'> {
  /** YAML, given the addresses of two providers. */
  readonly configuration: (first: string, second: string) => string;
  readonly keepAliveMs?: number;
  readonly maxBodyBytes?: number;
}

export interface Stack extends AsyncDisposable {
  readonly text: TextUnderTest;
  readonly first: Simulator;
  readonly second: Simulator;
  readonly redis: Redis;
}

/** The text service between a Redis and two providers of its own. */
export async function startStack({ configuration, ...options }: StackOptions): Promise<Stack> {
  const resources = new AsyncDisposableStack();
  const server = resources.adopt(await startRedis(), (it) => it.close());
  const redis = resources.adopt(new Redis(server.url), (it) => it.disconnect());
  const first = resources.use(await startSimulator());
  const second = resources.use(await startSimulator());
  const text = resources.adopt(
    await startText({ ...options, redis, configuration: configuration(first.url, second.url) }),
    (it) => it.close(),
  );
  return { text, first, second, redis, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** One channel per provider, and models that go to the first one alone. */
export const PLAIN = (first: string, second: string): string => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k }
  impatient: { provider: simulator, baseUrl: "${first}", apiKey: k, timeouts: { idleMs: 300 } }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k }
  drained: { provider: simulator, baseUrl: "${first}", apiKey: k, onDisconnect: drain }
models:
  gpt-5.2: { kind: text, routes: [{ channel: one }] }
  claude-sonnet-5-5: { kind: text, routes: [{ channel: one }] }
  impatient: { kind: text, routes: [{ channel: impatient }] }
  alias: { kind: text, routes: [{ channel: one, model: gpt-5.2 }] }
  both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: two, priority: 1 }] }
  patient: { kind: text, routes: [{ channel: drained }] }
  tts-1: { kind: speech, routes: [{ channel: one }] }
`;

/** The same, and a model whose requests are translated. */
export const WITH_TRANSLATED = (first: string, second: string): string =>
  PLAIN(first, second).replace(
    'models:\n',
    `  messages: { provider: simulator, baseUrl: "${first}", speaks: [messages] }
models:
  translated: { kind: text, routes: [{ channel: messages }] }
`,
  );

/** A model with a route to each provider, and one whose requests are translated for them. */
export const TWO_OF_EACH = (first: string, second: string): string => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k }
  chat-one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
  chat-two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
models:
  native: { kind: text, routes: [{ channel: one }, { channel: two }] }
  translated: { kind: text, routes: [{ channel: chat-one }, { channel: chat-two }] }
`;
