import type { Operation } from '@gateway/upstream/protocol';
import { COUNT_TOKENS, INPUT_TOKENS, type TextEndpoint } from '../../call/request/text-endpoint.ts';
import { effectiveBody } from '../../translation/effective-body.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { isJsonObject } from '../../wire/raw-json.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';

/** The operation that counts tokens, by a channel's protocol. Chat has none; llama.cpp has one of its own. */
export const COUNT_OPERATIONS = {
  messages: 'messages.count_tokens',
  responses: 'responses.input_tokens',
  chat: 'chat.input_tokens',
} as const satisfies Readonly<Record<TextProtocol, Operation>>;

/** The members of a translated request that a count takes. */
const COUNTED_MEMBERS: Readonly<Record<TextProtocol, readonly string[]>> = {
  messages: ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config'],
  responses: [
    'model',
    'input',
    'instructions',
    'tools',
    'tool_choice',
    'text',
    'reasoning',
    'parallel_tool_calls',
  ],
  chat: ['model', 'messages', 'tools', 'tool_choice', 'response_format', 'reasoning_effort'],
};

/** Members that a count takes, as a message does, and that add nothing to it: they say how, where and for whose money to answer. */
const NOT_COUNTED = ['compaction', 'billing_policy', 'inference_geo', 'fallback_credit_token'] as const;

/** A caller's request as far as any provider can count it. @throws {GatewayError} `unsupported_parameter` */
export function countedBody(caller: TextProtocol, body: unknown): unknown {
  if (caller !== 'messages' || !isJsonObject(body)) return effectiveBody(caller, body);
  const counted = { ...body };
  for (const member of NOT_COUNTED) Reflect.deleteProperty(counted, member);
  return effectiveBody(caller, counted);
}

/** The members of a request to an upstream that its count takes. */
export const countedMembers = (protocol: TextProtocol, body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED_MEMBERS[protocol].includes(name)));

/** An endpoint that counts, and how its callers read the number. */
export interface CountEndpoint {
  readonly endpoint: TextEndpoint;
  readonly replyBody: (inputTokens: number) => object;
}

export const MESSAGES_COUNT: CountEndpoint = {
  endpoint: COUNT_TOKENS,
  replyBody: (inputTokens) => ({ input_tokens: inputTokens }),
};

export const RESPONSES_COUNT: CountEndpoint = {
  endpoint: INPUT_TOKENS,
  replyBody: (inputTokens) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
};
