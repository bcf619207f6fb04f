import { decodeChatReply } from './chat/decode-reply.ts';
import { decodeChatRequest } from './chat/decode-request.ts';
import { ChatStreamDecoder } from './chat/decode-stream.ts';
import { encodeChatReply } from './chat/encode-reply.ts';
import { encodeChatRequest } from './chat/encode-request.ts';
import { ChatStreamEncoder } from './chat/encode-stream.ts';
import { replyFrames as completionFrames } from './chat/reply-frames.ts';
import { createChatStreamReader } from './chat/stream-reader.ts';
import { readUsage as readChatUsage } from './chat/usage.ts';
import type { Conversation } from './conversation/conversation.ts';
import type { CleanText } from './conversation/public-message.ts';
import { isJsonObject } from './conversation/raw-json.ts';
import { atTier, type Reply, type Usage } from './conversation/reply.ts';
import type { StreamEvent } from './conversation/stream-event.ts';
import type { TextProtocol } from './conversation/text-protocol.ts';
import type { EncodedRequest, Encoder } from './encoder.ts';
import { decodeMessagesReply } from './messages/decode-reply.ts';
import { decodeMessagesRequest } from './messages/decode-request.ts';
import { MessagesStreamDecoder } from './messages/decode-stream.ts';
import { encodeMessagesReply } from './messages/encode-reply.ts';
import { encodeMessagesRequest } from './messages/encode-request.ts';
import { MessagesStreamEncoder } from './messages/encode-stream.ts';
import { replyFrames as messageFrames } from './messages/reply-frames.ts';
import { createMessagesStreamReader } from './messages/stream-reader.ts';
import { readUsage as readMessagesUsage } from './messages/usage.ts';
import type { OpaqueTokens } from './opaque-token.ts';
import { decodeResponsesReply } from './responses/decode-reply.ts';
import { decodeResponsesRequest } from './responses/decode-request.ts';
import { ResponsesStreamDecoder } from './responses/decode-stream.ts';
import { encodeResponsesReply } from './responses/encode-reply.ts';
import { encodeResponsesRequest } from './responses/encode-request.ts';
import { ResponsesStreamEncoder } from './responses/encode-stream.ts';
import { replyFrames as responseFrames } from './responses/reply-frames.ts';
import { createResponsesStreamReader } from './responses/stream-reader.ts';
import { readUsage as readResponsesUsage } from './responses/usage.ts';
import { COMMENT_FRAME, namedFrame } from './sse-frames.ts';
import type { StreamStep } from './step.ts';
import type { StreamReader } from './stream-reader.ts';
import type { AnswerContext, Target } from './target.ts';

type Members = { readonly [member: string]: unknown };

/** What a room must offer so that its protocol can meet the others. */
interface ProtocolRoom {
  /** The longest tool name where the channel does not say otherwise. */
  readonly toolNameLength: number;
  readonly decodeRequest: (body: unknown, tokens: OpaqueTokens) => Conversation;
  readonly encodeRequest: (encoder: Encoder) => EncodedRequest;
  readonly decodeReply: (body: unknown, target: Target, clean: CleanText) => Reply;
  readonly encodeReply: (reply: Reply, context: AnswerContext) => object;
  readonly decodeStream: (target: Target, clean: CleanText) => StreamStep<string, StreamEvent>;
  readonly encodeStream: (context: AnswerContext) => StreamStep<StreamEvent, string>;
  /** Reads a stream that passes to a caller of the same protocol. */
  readonly createStreamReader: (options: { readonly hidesUsage: boolean }) => StreamReader;
  /**
   * A finished reply as a stream with all its members, for an upstream that answers with JSON instead of a stream; null
   * where it is no finished reply.
   */
  readonly replyFrames: (reply: Members, options: { readonly hidesUsage: boolean }) => string | null;
  /** What a whole reply says that it used, and at which tier; null where it does not say it. */
  readonly readUsage: (reply: Members) => Usage | null;
  /** Sent while there is nothing to say. */
  readonly keepAliveFrame: string;
}

export const PROTOCOLS: Readonly<Record<TextProtocol, ProtocolRoom>> = {
  responses: {
    toolNameLength: 128,
    decodeRequest: decodeResponsesRequest,
    encodeRequest: encodeResponsesRequest,
    decodeReply: decodeResponsesReply,
    encodeReply: encodeResponsesReply,
    decodeStream: (target, clean) => new ResponsesStreamDecoder(target, clean),
    encodeStream: (context) => new ResponsesStreamEncoder(context),
    createStreamReader: () => createResponsesStreamReader(),
    replyFrames: responseFrames,
    readUsage: (reply) => atTier(readResponsesUsage(reply), reply.service_tier),
    keepAliveFrame: COMMENT_FRAME,
  },
  messages: {
    toolNameLength: 128,
    decodeRequest: decodeMessagesRequest,
    encodeRequest: encodeMessagesRequest,
    decodeReply: decodeMessagesReply,
    encodeReply: encodeMessagesReply,
    decodeStream: (target, clean) => new MessagesStreamDecoder(target, clean),
    encodeStream: (context) => new MessagesStreamEncoder(context),
    createStreamReader: createMessagesStreamReader,
    replyFrames: messageFrames,
    readUsage: ({ usage }) => atTier(readMessagesUsage(usage), isJsonObject(usage) && usage.service_tier),
    keepAliveFrame: namedFrame({ type: 'ping' }),
  },
  chat: {
    toolNameLength: 64,
    decodeRequest: decodeChatRequest,
    encodeRequest: encodeChatRequest,
    decodeReply: decodeChatReply,
    encodeReply: encodeChatReply,
    decodeStream: (target, clean) => new ChatStreamDecoder(target, clean),
    encodeStream: (context) => new ChatStreamEncoder(context),
    createStreamReader: createChatStreamReader,
    replyFrames: completionFrames,
    readUsage: (reply) => atTier(readChatUsage(reply), reply.service_tier),
    keepAliveFrame: COMMENT_FRAME,
  },
};

/** What is sent to a waiting caller so that neither side takes the connection for dead. */
export const keepAliveFrame = (caller: TextProtocol): string => PROTOCOLS[caller].keepAliveFrame;
