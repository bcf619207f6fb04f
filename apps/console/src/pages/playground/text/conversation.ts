import { type AnswerReader, type RunningExchange, startExchange } from '../exchange/exchange.ts';
import { createLive, type Live } from '../exchange/live.ts';
import { RelayError } from '../exchange/relay.ts';
import { chat } from './chat.ts';
import { messages } from './messages.ts';
import {
  NO_ANSWER,
  type TextAnswer,
  type TextProtocol,
  type TextSettings,
  type ToolCall,
  type ToolResult,
  type UserMessage,
} from './protocol.ts';
import { responses } from './responses.ts';

export const PROTOCOL_NAMES = ['responses', 'messages', 'chat'] as const;
export type ProtocolName = (typeof PROTOCOL_NAMES)[number];
export const PROTOCOLS: Readonly<Record<ProtocolName, TextProtocol>> = { responses, messages, chat };

/** What a person sent, and what came of it. */
export interface Turn {
  readonly id: number;
  readonly sent: { readonly message: UserMessage } | { readonly results: readonly ToolResult[] };
  readonly exchange: RunningExchange<TextAnswer>;
}

/** With which model, and in which protocol. Each pair has a conversation of its own. */
export interface ConversationOf {
  readonly protocol: ProtocolName;
  readonly model: string;
}

export interface Send extends ConversationOf {
  readonly keyId: string;
  readonly settings: TextSettings;
  readonly sent: Turn['sent'];
}

/** The conversations of the page, side by side. */
export interface Conversations {
  readonly live: Live<ReadonlyMap<string, readonly Turn[]>>;
  send(what: Send): void;
  stopAll(): void;
  /** Forgets everything. */
  clear(): void;
}

/** Of so many turns of a conversation the raw events are kept. */
const MAX_LOGS = 10;

export const conversationKey = ({ protocol, model }: ConversationOf): string => `${protocol} ${model}`;

export function createConversations(): Conversations {
  const live = createLive<ReadonlyMap<string, readonly Turn[]>>(new Map());
  let turns = 0;
  const stopAll = (): void => {
    for (const { exchange } of [...live.get().values()].flat()) exchange.stop();
  };
  return {
    live,
    stopAll,
    send: ({ keyId, settings, sent, ...of }) => {
      const { model } = of;
      const protocol = PROTOCOLS[of.protocol];
      const before = live.get().get(conversationKey(of)) ?? [];
      const input = [...before.flatMap((turn) => inputOf(protocol, turn)), ...sentOf(protocol, sent)];
      const exchange = startExchange({
        call: {
          path: protocol.path,
          body: { kind: 'json', json: protocol.body({ model, settings, input }) },
        },
        keyId,
        first: NO_ANSWER,
        read: (response, reader) => readText(protocol, response, reader),
      });
      before.at(-MAX_LOGS)?.exchange.log.forget();
      turns += 1;
      live.set(new Map([...live.get(), [conversationKey(of), [...before, { id: turns, sent, exchange }]]]));
      // Whether something runs is seen in the exchange; a turn that has ended changes what may be sent next.
      void exchange.ended.then(() => live.set(new Map(live.get())));
    },
    clear: () => {
      stopAll();
      live.set(new Map());
    },
  };
}

/** Whether the turn's answer belongs to the conversation: one that broke off does not. */
export const isWhole = ({ exchange }: Turn): boolean => exchange.live.get().state === 'done';

export const isRunning = ({ exchange }: Turn): boolean => exchange.live.get().state === 'running';

/** The tool calls of the last whole answer, whose results the model waits for. */
export const openCalls = (turns: readonly Turn[]): readonly ToolCall[] =>
  turns.findLast(isWhole)?.exchange.live.get().answer.toolCalls ?? [];

/** A turn as the next request has it. What was not answered whole is left out with its answer. */
const inputOf = (protocol: TextProtocol, turn: Turn): readonly unknown[] =>
  isWhole(turn) ? [...sentOf(protocol, turn.sent), ...turn.exchange.live.get().answer.output] : [];

const sentOf = (protocol: TextProtocol, sent: Turn['sent']): readonly unknown[] =>
  'message' in sent ? protocol.userMessage(sent.message) : protocol.toolResults(sent.results);

/** @throws {RelayError} for an error within the stream, and for a stream that ends too early */
async function readText(
  protocol: TextProtocol,
  response: Response,
  reader: AnswerReader<TextAnswer>,
): Promise<void> {
  const text = protocol.createReader();
  for await (const event of reader.events(response)) {
    text.read(event);
    const answer = text.answer();
    reader.show(answer, hasOutput(answer));
  }
  const { error, stopReason } = text.answer();
  const requestId = response.headers.get('x-request-id');
  const { status } = response;
  if (error !== null) throw new RelayError(error.message, { status, code: error.code, requestId });
  if (stopReason === null)
    throw new RelayError('The stream ended before the answer was complete.', {
      status,
      code: null,
      requestId,
    });
}

const hasOutput = ({ text, reasoning, refusal, toolCalls }: TextAnswer): boolean =>
  text !== '' || reasoning !== '' || refusal !== '' || toolCalls.length > 0;
