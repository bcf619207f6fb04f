import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { startText, type TextUnderTest } from './start-text.ts';

/** Models whose channel stores responses, speaks Responses without storing them, or speaks another protocol. */
export const MODELS = ['responses', 'forgetful', 'messages', 'chat'] as const;

interface Turn {
  readonly text?: TextUnderTest;
  readonly identity?: object;
  readonly path?: string;
}

const configurationOf = (first: string, second: string, conversations: string) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses] }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [responses] }
  forgetful: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [responses], quirks: { storedResponses: false } }
  messages: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
models:
  responses: { kind: text, routes: [{ channel: one }] }
  other: { kind: text, routes: [{ channel: two }] }
  forgetful: { kind: text, routes: [{ channel: forgetful }] }
  messages: { kind: text, routes: [{ channel: messages }] }
  chat: { kind: text, routes: [{ channel: chat }] }
  both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: messages, priority: 1 }] }
${conversations}`;

/** Two replicas between a Redis and two providers, for the tests of one file; nothing is stored before each of them. */
export function useConversations() {
  const resources = new AsyncDisposableStack();
  let opened: Awaited<ReturnType<typeof open>> | null = null;
  const stage = () => {
    if (opened === null) throw new Error('before the first test');
    return opened;
  };

  async function open() {
    const server = resources.adopt(await startRedis(), (it) => it.close());
    const redis = resources.adopt(new Redis(server.url), (it) => it.disconnect());
    const first = resources.use(await startSimulator());
    const second = resources.use(await startSimulator());
    const folder = resources.adopt(await temporaryFolder(), (it) => it.close());
    const start = async () => {
      const options = {
        redis,
        partsDir: folder.path,
        configuration: configurationOf(first.url, second.url, ''),
      };
      return resources.adopt(await startText(options), (text) => text.close());
    };
    const texts = [await start(), await start()] as const;
    return { redis, first, second, start, texts };
  }

  const configuration = (conversations = ''): string =>
    configurationOf(stage().first.url, stage().second.url, conversations);
  const configure = (conversations = ''): void => {
    const parsed = parseConfiguration(configuration(conversations), 'gateway.yaml', {});
    for (const text of stage().texts) text.upstream.replace(parsed);
  };
  const send = (
    body: object,
    { text = stage().texts[0], identity = {}, path = '/v1/responses' }: Turn = {},
  ) => text.fetch(path, { body, identity });

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => resources.disposeAsync());
  beforeEach(async () => {
    const { redis, first, second } = stage();
    await emptyRedis(redis);
    first.reset();
    second.reset();
    configure();
  });

  return {
    get redis() {
      return stage().redis;
    },
    get first() {
      return stage().first;
    },
    get second() {
      return stage().second;
    },
    get texts() {
      return stage().texts;
    },
    /** A further replica. */
    start: () => stage().start(),
    /** The configuration with this section of conversations. */
    configuration,
    /** From now on it holds. */
    configure,
    send,
    create: async (body: object, turn: Turn = {}): Promise<Record<string, unknown>> => {
      const reply = await send({ input: 'hi', ...body }, turn);
      const made = Object(await reply.json());
      expect(made).toMatchObject({ object: 'response', status: 'completed' });
      return made;
    },
    get: (id: unknown, text = stage().texts[0], identity = {}) =>
      text.fetch(`/v1/responses/${id}`, { identity }),
    simulatorOf: (model: string): Simulator => (model === 'responses' ? stage().first : stage().second),
    reached,
  };
}

/** The conversation that reached a provider last, in the terms of any protocol: each text with its role. */
async function reached(simulator: Simulator): Promise<string[]> {
  const { body } = simulator.requests.findLast(({ method }) => method === 'POST') ?? {};
  const { input, messages } = Object(JSON.parse(String(body)));
  return [input ?? messages].flat().map((item: unknown) => {
    const { role, type, content, call_id, tool_call_id } = Object(item);
    const parts = typeof content === 'string' ? content : [content ?? []].flat().map(partText).join('|');
    return `${role ?? type}: ${parts || (call_id ?? tool_call_id ?? '')}`;
  });
}

const partText = (part: unknown): string => {
  const { text, type } = Object(part);
  return text ?? type;
};
