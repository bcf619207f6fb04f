import { z } from 'zod';
import { type Stack, startStack } from './start-stack.ts';

/** A provider under each protocol that compacts nothing itself. */
const PLAIN = 'quirks: { compaction: false }';

/**
 * The text service before a provider that compacts conversations itself (`first`: the models `native` and `claude`), and
 * one that does not (`second`: `EMULATED`).
 */
export const startCompactionStack = (): Promise<Stack> =>
  startStack({
    configuration: (first, second) => `
channels:
  openai: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses] }
  anthropic: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  other-openai: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [responses] }
  other-anthropic: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages] }
  responses: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [responses], ${PLAIN} }
  messages: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages], ${PLAIN} }
  chat: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat], ${PLAIN} }
conversations: { sharingTeams: [shared] }
models:
  native: { kind: text, routes: [{ channel: openai }] }
  claude: { kind: text, routes: [{ channel: anthropic }] }
  native-elsewhere: { kind: text, routes: [{ channel: other-openai }] }
  claude-elsewhere: { kind: text, routes: [{ channel: other-anthropic }] }
  either: { kind: text, routes: [{ channel: other-openai, weight: 1000 }, { channel: openai, weight: 1 }] }
  native-first: { kind: text, routes: [{ channel: openai }, { channel: chat, priority: 1 }] }
  over-responses: { kind: text, routes: [{ channel: responses }] }
  over-messages: { kind: text, routes: [{ channel: messages }] }
  over-chat: { kind: text, routes: [{ channel: chat }] }
`,
  });

export const EMULATED = ['over-responses', 'over-messages', 'over-chat'] as const;

const Item = z.looseObject({ type: z.string(), encrypted_content: z.string().optional() });

/** What is read of the replies of Responses: an error has no output. */
const Shown = z.looseObject({
  id: z.string().default(''),
  output: z.array(Item).default([]),
  usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).nullish(),
});

type Init = NonNullable<Parameters<Stack['text']['fetch']>[1]>;

export const user = (text: string) => ({ role: 'user', content: text });

/** `POST /v1/responses` and `/v1/responses/compact`, with the content of their replies. */
export function responsesOf({ text }: Stack) {
  const post = async (path: string, body: object, init: Init = {}) => {
    const reply = await text.fetch(path, { body, ...init });
    const json: unknown = await reply.json();
    const { id, output, usage } = Shown.parse(json);
    return { status: reply.status, json, id, output, usage, headers: reply.headers };
  };
  return {
    compact: (body: object, init?: Init) => post('/v1/responses/compact', body, init),
    respond: (body: object, init?: Init) => post('/v1/responses', body, init),
  };
}

/** The events of a stream, but for the one that closes it. */
export async function eventsOf(reply: Response): Promise<readonly z.infer<typeof ShownEvent>[]> {
  const frames = (await reply.text()).split('\n\n').filter((frame) => frame.includes('data: {'));
  return frames.map((frame) => ShownEvent.parse(JSON.parse(frame.slice(frame.indexOf('data: ') + 6))));
}

const ShownEvent = z.looseObject({
  type: z.string(),
  sequence_number: z.number().optional(),
  item: z.looseObject({ id: z.string() }).optional(),
  response: Shown.optional(),
});
