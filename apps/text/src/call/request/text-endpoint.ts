import {
  CompatibleCountTokensRequest,
  CompatibleMessagesRequest,
  CountTokensRequest,
  MessagesRequest,
} from '@gateway/contracts/anthropic/messages';
import type { Dialect } from '@gateway/contracts/gateway-error';
import { CountTokensBody, GenerateContentRequest } from '@gateway/contracts/google/gemini-request';
import type { EndpointScope } from '@gateway/contracts/identity';
import { ChatCompletionsRequest, CompatibleChatRequest } from '@gateway/contracts/openai/chat';
import { CompletionsRequest } from '@gateway/contracts/openai/completions';
import {
  CompactRequest,
  CompatibleResponsesRequest,
  ResponsesRequest,
} from '@gateway/contracts/openai/responses';
import type { ConversationProtocol, Operation, Protocol } from '@gateway/upstream/protocol';
import { z } from 'zod';
import type { TextProtocol } from '../../wire/text-protocol.ts';

/** The members that the gateway itself uses, in every protocol. */
export interface TextBody {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly tools?: unknown;
  readonly tool_choice?: unknown;
  readonly stream_options?: unknown;
  readonly store?: unknown;
  readonly background?: unknown;
  readonly thread?: { readonly type: 'create' | 'continue' } | null | undefined;
  readonly diagnostics?: unknown;
}

/** An endpoint that takes a conversation for a model. */
export interface TextEndpoint {
  /** Its operation at a channel of the caller's own protocol. */
  readonly operation: Operation;
  readonly protocol: TextProtocol;
  /** What a channel speaks that gets the caller's own bytes. */
  readonly passedTo: Protocol;
  /** What a key must be allowed for it, and its name in records. */
  readonly scope: EndpointScope;
  /** The other protocols that it can be translated to, best first. */
  readonly translatedTo: readonly ConversationProtocol[];
  readonly dialect: Dialect;
  readonly schema: z.ZodType<TextBody>;
  /** The same with values that other makers' servers of this protocol may know; null: there are none. */
  readonly compatible: z.ZodType<TextBody> | null;
}

export const RESPONSES: TextEndpoint = {
  operation: 'responses',
  protocol: 'responses',
  passedTo: 'responses',
  scope: 'responses',
  translatedTo: ['messages', 'gemini', 'chat', 'converse'],
  dialect: 'openai',
  schema: ResponsesRequest,
  compatible: CompatibleResponsesRequest,
};

export const MESSAGES: TextEndpoint = {
  operation: 'messages',
  protocol: 'messages',
  passedTo: 'messages',
  scope: 'messages',
  translatedTo: ['responses', 'gemini', 'chat', 'converse'],
  dialect: 'anthropic',
  schema: MessagesRequest,
  compatible: CompatibleMessagesRequest,
};

export const CHAT: TextEndpoint = {
  operation: 'chat',
  protocol: 'chat',
  passedTo: 'chat',
  scope: 'chat',
  translatedTo: ['responses', 'messages', 'gemini', 'converse'],
  dialect: 'openai',
  schema: ChatCompletionsRequest,
  compatible: CompatibleChatRequest,
};

/** Bare prompts are not translated: a model that answers in turns would answer them in prose. All else is as in Chat. */
export const COMPLETIONS: TextEndpoint = {
  ...CHAT,
  operation: 'completions',
  passedTo: 'completions',
  scope: 'completions',
  translatedTo: [],
  schema: CompletionsRequest,
  compatible: null,
};

/** Counting generates nothing, so there is no usage to read. */
export const COUNT_TOKENS: TextEndpoint = {
  ...MESSAGES,
  operation: 'messages.count_tokens',
  schema: CountTokensRequest,
  compatible: CompatibleCountTokensRequest,
};

/** Its model is in its path, and whether it streams: `withAddress` writes both into the body, where they are in other protocols. */
export const GEMINI: TextEndpoint = {
  operation: 'gemini',
  protocol: 'gemini',
  passedTo: 'gemini',
  scope: 'gemini',
  translatedTo: ['responses', 'messages', 'chat', 'converse'],
  dialect: 'google',
  schema: GenerateContentRequest,
  compatible: null,
};

export const GEMINI_COUNT_TOKENS: TextEndpoint = {
  ...GEMINI,
  operation: 'gemini.count_tokens',
  schema: CountTokensBody.extend({ model: z.string().min(1) }),
};

/** Its reply is no response: it cannot be read or continued by its id. */
export const COMPACT: TextEndpoint = {
  ...RESPONSES,
  operation: 'responses.compact',
  schema: CompactRequest,
  compatible: null,
};

export const INPUT_TOKENS: TextEndpoint = {
  ...RESPONSES,
  operation: 'responses.input_tokens',
};

const ENDPOINTS = [
  RESPONSES,
  MESSAGES,
  CHAT,
  COMPLETIONS,
  GEMINI,
  COUNT_TOKENS,
  COMPACT,
  INPUT_TOKENS,
  GEMINI_COUNT_TOKENS,
];

/** The endpoint of an operation. */
export function endpointOf(operation: Operation): TextEndpoint {
  const endpoint = ENDPOINTS.find((one) => one.operation === operation);
  if (endpoint === undefined) throw new Error(`no endpoint takes conversations for '${operation}'`);
  return endpoint;
}
