import { type Stack, startStack } from './start-stack.ts';

export const TEXT_PROTOCOLS = ['responses', 'messages', 'chat'] as const;
export type TextProtocolName = (typeof TEXT_PROTOCOLS)[number];

/** Every caller with every upstream. The model `to-chat` is served by a channel that speaks chat alone, and so on. */
export const PAIRS = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.map((target) => ({ caller, target, model: `to-${target}` })),
);

export const TRANSLATED_PAIRS = PAIRS.filter(({ caller, target }) => caller !== target);

export const PATHS = {
  responses: '/v1/responses',
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
} as const;

/** A small request of each protocol, with this text from the user. */
export const requestOf = (caller: TextProtocolName, model: string, text: string, more: object = {}): object =>
  ({
    responses: { model, input: text, ...more },
    messages: { model, max_tokens: 1000, messages: [{ role: 'user', content: text }], ...more },
    chat: { model, messages: [{ role: 'user', content: text }], ...more },
  })[caller];

export interface PairsOptions {
  readonly keepAliveMs?: number;
  /** How long the channels may fall silent within a stream. */
  readonly idleMs?: number;
  /** Further channels and models, as lines of YAML with their indentation. */
  readonly channels?: string;
  readonly models?: string;
}

/** The text service before one provider that is reached under each protocol by a channel of its own. */
export const startPairs = ({
  channels = '',
  models = '',
  idleMs = 60_000,
  ...options
}: PairsOptions = {}): Promise<Stack> =>
  startStack({
    ...options,
    configuration: (first, second) => `
channels:
  responses: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses], cooldown: off, timeouts: { idleMs: ${idleMs} } }
  messages: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages], cooldown: off, timeouts: { idleMs: ${idleMs} } }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat], cooldown: off, timeouts: { idleMs: ${idleMs} }, quirks: { reasoningBack: known } }
  reserve: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
${channels}
models:
  to-responses: { kind: text, routes: [{ channel: responses, model: gpt-5.2 }] }
  to-messages: { kind: text, routes: [{ channel: messages, model: claude-sonnet-5 }] }
  to-chat: { kind: text, routes: [{ channel: chat, model: open-model }] }
${models}
`,
  });
