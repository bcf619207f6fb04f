import { BLANK_LINE, COMMENT_FRAME } from '@gateway/contracts/event-stream/sse-frames';
import type { ConversationProtocol, Operation } from '@gateway/upstream/protocol';
import type { Conversation } from '../neutral/conversation.ts';
import type { EncodedRequest, Encoder } from '../neutral/encoding/encoder.ts';
import type { Reply } from '../neutral/reply/reply.ts';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import type { AnswerContext, Target } from '../neutral/target.ts';
import { type JsonObject, numberAt } from '../wire/json-object.ts';
import type { CleanText } from '../wire/public-message.ts';
import type { EventCollector } from '../wire/stream/event-collector.ts';
import type { StreamStep } from '../wire/stream/step.ts';
import type { StreamReader } from '../wire/stream/stream-reader.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import { toolBlocksIn } from '../wire/tool-calls.ts';
import type { Usage } from '../wire/usage.ts';
import { decodeChatReply } from './chat/reply/decode-reply.ts';
import { encodeChatReply } from './chat/reply/encode-reply.ts';
import { readUsageAtTier as readChatUsage } from './chat/reply/usage.ts';
import { decodeChatRequest } from './chat/request/decode-request.ts';
import { encodeChatRequest } from './chat/request/encode-request.ts';
import { createCompletionCollector } from './chat/stream/collect-events.ts';
import { ChatStreamDecoder } from './chat/stream/decode-stream.ts';
import { ChatStreamEncoder } from './chat/stream/encode-stream.ts';
import { replyFrames as completionFrames } from './chat/stream/reply-frames.ts';
import { createChatStreamReader } from './chat/stream/stream-reader.ts';
import { decodeConverseReply } from './converse/reply/decode-reply.ts';
import { readUsage as readConverseUsage } from './converse/reply/usage.ts';
import { countedOf, encodeConverseRequest } from './converse/request/encode-request.ts';
import { ConverseStreamDecoder } from './converse/stream/decode-stream.ts';
import { createConverseUsageReader } from './converse/stream/usage-reader.ts';
import { countBody, countIn } from './gemini/counting.ts';
import { decodeGeminiReply } from './gemini/reply/decode-reply.ts';
import { encodeGeminiReply } from './gemini/reply/encode-reply.ts';
import { readUsage as readGeminiUsage } from './gemini/reply/usage.ts';
import { decodeGeminiRequest } from './gemini/request/decode-request.ts';
import { encodeGeminiRequest } from './gemini/request/encode-request.ts';
import { GeminiStreamDecoder } from './gemini/stream/decode-stream.ts';
import { GeminiStreamEncoder } from './gemini/stream/encode-stream.ts';
import {
  replyFrames as contentFrames,
  createResponseCollector as createContentCollector,
  createGeminiStreamReader,
} from './gemini/stream/stream-reader.ts';
import { createUsageReader as createGeminiUsageReader } from './gemini/stream/usage-reader.ts';
import { decodeMessagesReply } from './messages/reply/decode-reply.ts';
import { encodeMessagesReply } from './messages/reply/encode-reply.ts';
import { readUsageAtTier as readMessagesUsage } from './messages/reply/usage.ts';
import { decodeMessagesRequest } from './messages/request/decode-request.ts';
import { encodeMessagesRequest } from './messages/request/encode-request.ts';
import { createMessageCollector } from './messages/stream/collect-events.ts';
import { MessagesStreamDecoder } from './messages/stream/decode-stream.ts';
import { MessagesStreamEncoder } from './messages/stream/encode-stream.ts';
import { replyFrames as messageFrames } from './messages/stream/reply-frames.ts';
import { createMessagesStreamReader, PING_FRAME } from './messages/stream/stream-reader.ts';
import { decodeResponsesReply } from './responses/reply/decode-reply.ts';
import { readUsageAtTier as readResponsesUsage } from './responses/reply/usage.ts';
import { decodeResponsesRequest } from './responses/request/decode-request.ts';
import { encodeResponsesRequest } from './responses/request/encode-request.ts';
import { createResponseCollector } from './responses/stream/collect-events.ts';
import { ResponsesStreamDecoder } from './responses/stream/decode-stream.ts';
import { encodeResponsesReply, ResponsesStreamEncoder } from './responses/stream/encode-stream.ts';
import { replyFrames as responseFrames } from './responses/stream/reply-frames.ts';
import { createResponsesStreamReader } from './responses/stream/stream-reader.ts';

interface ReaderOptions {
  readonly hidesUsage: boolean;
  /** How many answers were requested; 1 where absent. */
  readonly answers?: number;
}

/** What the gateway needs of a protocol that a channel speaks: what it takes to translate to it. */
export interface UpstreamAdapter {
  /** The longest tool name where the channel does not set another. */
  readonly toolNameLength: number;
  /** Whether a tool's name must begin with a letter or `_`; absent: it need not. */
  readonly toolNamesBeginWithLetter?: boolean;
  /** Whether it has an output format for any JSON object, without a schema. */
  readonly hasObjectFormat: boolean;
  readonly encodeRequest: (encoder: Encoder) => EncodedRequest;
  readonly decodeReply: (body: unknown, target: Target, clean: CleanText) => Reply;
  readonly decodeStream: (target: Target, clean: CleanText) => StreamStep<string, StreamEvent>;
  /** Reads what a stream has used that nobody gets. */
  readonly createUsageReader: () => Pick<StreamReader, 'frame' | 'usage' | 'outputLength'>;
  /** The usage and the tier that a whole reply reports; null where it reports none. */
  readonly readUsage: (reply: JsonObject) => Usage | null;
  readonly counting: Counting;
}

/** How a protocol counts the tokens of a request. */
interface Counting {
  readonly operation: Operation;
  /** What is sent, of a translated request. */
  readonly bodyOf: (body: JsonObject, target: Target) => JsonObject;
  /** The number in the reply; null where there is none. */
  readonly tokensIn: (reply: JsonObject) => number | null;
}

/** What it takes besides to read callers of a protocol, to answer them, and to pass their requests through. */
interface ProtocolAdapter extends UpstreamAdapter {
  readonly decodeRequest: (body: unknown, tokens: OpaqueTokens) => Conversation;
  readonly encodeReply: (reply: Reply, context: AnswerContext) => object;
  readonly encodeStream: (context: AnswerContext) => StreamStep<StreamEvent, string>;
  /** Reads a stream that passes to a caller of the same protocol. */
  readonly createStreamReader: (options: ReaderOptions) => StreamReader;
  /** Puts a stream together for a caller of the same protocol who does not stream. */
  readonly createEventCollector: () => EventCollector;
  /**
   * A finished reply as a stream with all its members, for an upstream that answers with JSON instead of a stream; null
   * where it is no finished reply.
   */
  readonly replyFrames: (
    reply: JsonObject,
    options: { readonly hidesUsage: boolean },
  ) => readonly string[] | null;
  /** Sent while there is no event. */
  readonly keepAliveFrame: string;
}

const countedBy = (operation: Operation, members: readonly string[]): Counting => ({
  operation,
  bodyOf: (body) => Object.fromEntries(Object.entries(body).filter(([name]) => members.includes(name))),
  tokensIn: (reply) => numberAt(reply, 'input_tokens'),
});

/** The protocols that callers speak. */
export const PROTOCOLS: Readonly<Record<TextProtocol, ProtocolAdapter>> = {
  responses: {
    toolNameLength: 128,
    hasObjectFormat: true,
    decodeRequest: decodeResponsesRequest,
    encodeRequest: encodeResponsesRequest,
    decodeReply: decodeResponsesReply,
    encodeReply: encodeResponsesReply,
    decodeStream: (target, clean) => new ResponsesStreamDecoder(target, clean),
    encodeStream: (context) => new ResponsesStreamEncoder(context),
    createStreamReader: () => createResponsesStreamReader(),
    createUsageReader: () => createResponsesStreamReader(),
    createEventCollector: createResponseCollector,
    replyFrames: responseFrames,
    readUsage: readResponsesUsage,
    counting: countedBy('responses.input_tokens', [
      'model',
      'input',
      'instructions',
      'tools',
      'tool_choice',
      'text',
      'reasoning',
      'parallel_tool_calls',
    ]),
    keepAliveFrame: COMMENT_FRAME,
  },
  messages: {
    toolNameLength: 128,
    hasObjectFormat: false,
    decodeRequest: decodeMessagesRequest,
    encodeRequest: encodeMessagesRequest,
    decodeReply: decodeMessagesReply,
    encodeReply: encodeMessagesReply,
    decodeStream: (target, clean) => new MessagesStreamDecoder(target, clean),
    encodeStream: (context) => new MessagesStreamEncoder(context),
    createStreamReader: () => createMessagesStreamReader(),
    createUsageReader: () => createMessagesStreamReader(),
    createEventCollector: createMessageCollector,
    replyFrames: messageFrames,
    readUsage: ({ usage, content }) => readMessagesUsage(usage, toolBlocksIn(content)),
    counting: countedBy('messages.count_tokens', [
      'model',
      'messages',
      'system',
      'tools',
      'tool_choice',
      'thinking',
      'output_config',
    ]),
    keepAliveFrame: PING_FRAME,
  },
  chat: {
    toolNameLength: 64,
    hasObjectFormat: true,
    decodeRequest: decodeChatRequest,
    encodeRequest: encodeChatRequest,
    decodeReply: decodeChatReply,
    encodeReply: encodeChatReply,
    decodeStream: (target, clean) => new ChatStreamDecoder(target, clean),
    encodeStream: (context) => new ChatStreamEncoder(context),
    createStreamReader: createChatStreamReader,
    createUsageReader: () => createChatStreamReader({ hidesUsage: false }),
    createEventCollector: createCompletionCollector,
    replyFrames: completionFrames,
    readUsage: readChatUsage,
    // llama.cpp has one of its own.
    counting: countedBy('chat.input_tokens', [
      'model',
      'messages',
      'tools',
      'tool_choice',
      'response_format',
      'reasoning_effort',
    ]),
    keepAliveFrame: COMMENT_FRAME,
  },
  gemini: {
    toolNameLength: 64,
    toolNamesBeginWithLetter: true,
    hasObjectFormat: true,
    decodeRequest: decodeGeminiRequest,
    encodeRequest: encodeGeminiRequest,
    decodeReply: decodeGeminiReply,
    encodeReply: encodeGeminiReply,
    decodeStream: (target, clean) => new GeminiStreamDecoder(target, clean),
    encodeStream: (context) => new GeminiStreamEncoder(context),
    createStreamReader: () => createGeminiStreamReader(),
    createUsageReader: createGeminiUsageReader,
    createEventCollector: createContentCollector,
    replyFrames: contentFrames,
    readUsage: readGeminiUsage,
    counting: { operation: 'gemini.count_tokens', bodyOf: countBody, tokensIn: countIn },
    keepAliveFrame: BLANK_LINE,
  },
};

/** The protocols that channels speak, whether callers do or not. */
export const UPSTREAMS: Readonly<Record<ConversationProtocol, UpstreamAdapter>> = {
  ...PROTOCOLS,
  converse: {
    toolNameLength: 64,
    hasObjectFormat: false,
    encodeRequest: encodeConverseRequest,
    decodeReply: decodeConverseReply,
    decodeStream: (target, clean) => new ConverseStreamDecoder(target, clean),
    createUsageReader: createConverseUsageReader,
    readUsage: readConverseUsage,
    counting: {
      operation: 'converse.count_tokens',
      bodyOf: (body) => ({ input: { converse: countedOf(body) } }),
      tokensIn: (reply) => numberAt(reply, 'inputTokens'),
    },
  },
};

/** What is sent to a waiting caller so that neither side takes the connection for dead. */
export const keepAliveFrame = (caller: TextProtocol): string => PROTOCOLS[caller].keepAliveFrame;
