import type { Conversation } from '../conversation/conversation.ts';
import type { EncodedRequest, Encoder } from '../conversation/encoding/encoder.ts';
import type { Reply } from '../conversation/reply.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import type { AnswerContext, Target } from '../conversation/target.ts';
import { decodeChatReply } from '../protocols/chat/decode-reply.ts';
import { decodeChatRequest } from '../protocols/chat/decode-request.ts';
import { ChatStreamDecoder } from '../protocols/chat/decode-stream.ts';
import { encodeChatReply } from '../protocols/chat/encode-reply.ts';
import { encodeChatRequest } from '../protocols/chat/encode-request.ts';
import { ChatStreamEncoder } from '../protocols/chat/encode-stream.ts';
import { replyFrames as completionFrames } from '../protocols/chat/reply-frames.ts';
import { createChatStreamReader } from '../protocols/chat/stream-reader.ts';
import { readUsageAtTier as readChatUsage } from '../protocols/chat/usage.ts';
import { decodeMessagesReply } from '../protocols/messages/decode-reply.ts';
import { decodeMessagesRequest } from '../protocols/messages/decode-request.ts';
import { MessagesStreamDecoder } from '../protocols/messages/decode-stream.ts';
import { encodeMessagesReply } from '../protocols/messages/encode-reply.ts';
import { encodeMessagesRequest } from '../protocols/messages/encode-request.ts';
import { MessagesStreamEncoder } from '../protocols/messages/encode-stream.ts';
import { replyFrames as messageFrames } from '../protocols/messages/reply-frames.ts';
import { createMessagesStreamReader } from '../protocols/messages/stream-reader.ts';
import { readUsageAtTier as readMessagesUsage } from '../protocols/messages/usage.ts';
import { decodeResponsesReply } from '../protocols/responses/decode-reply.ts';
import { decodeResponsesRequest } from '../protocols/responses/decode-request.ts';
import { ResponsesStreamDecoder } from '../protocols/responses/decode-stream.ts';
import { encodeResponsesRequest } from '../protocols/responses/encode-request.ts';
import { encodeResponsesReply, ResponsesStreamEncoder } from '../protocols/responses/encode-stream.ts';
import { replyFrames as responseFrames } from '../protocols/responses/reply-frames.ts';
import { createResponsesStreamReader } from '../protocols/responses/stream-reader.ts';
import { readUsageAtTier as readResponsesUsage } from '../protocols/responses/usage.ts';
import type { JsonObject } from '../wire/json-object.ts';
import type { OpaqueTokens } from '../wire/opaque-token.ts';
import type { CleanText } from '../wire/public-message.ts';
import { COMMENT_FRAME, namedFrame } from '../wire/sse-frames.ts';
import type { StreamStep } from '../wire/step.ts';
import type { StreamReader } from '../wire/stream-reader.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Usage } from '../wire/usage.ts';

/** What the gateway needs of a protocol, to pass it through and to translate it. */
interface ProtocolAdapter {
  /** The longest tool name where the channel does not set another. */
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
  readonly replyFrames: (reply: JsonObject, options: { readonly hidesUsage: boolean }) => string | null;
  /** The usage and the tier that a whole reply reports; null where it reports none. */
  readonly readUsage: (reply: JsonObject) => Usage | null;
  /** Sent while there is no event. */
  readonly keepAliveFrame: string;
}

export const PROTOCOLS: Readonly<Record<TextProtocol, ProtocolAdapter>> = {
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
    readUsage: readResponsesUsage,
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
    readUsage: ({ usage }) => readMessagesUsage(usage),
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
    readUsage: readChatUsage,
    keepAliveFrame: COMMENT_FRAME,
  },
};

/** What is sent to a waiting caller so that neither side takes the connection for dead. */
export const keepAliveFrame = (caller: TextProtocol): string => PROTOCOLS[caller].keepAliveFrame;
