import {
  COUNT_TOKENS,
  GEMINI_COUNT_TOKENS,
  INPUT_TOKENS,
  type TextEndpoint,
} from '../../call/request/text-endpoint.ts';
import { usualSpelling } from '../../protocols/gemini/request/usual-spelling.ts';
import { effectiveBody } from '../../translation/effective-body.ts';
import { isJsonObject } from '../../wire/raw-json.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';

/** Members that a count takes, as a message does, and that add nothing to it: they say how, where and for whose money to answer. */
const NOT_COUNTED = ['compaction', 'billing_policy', 'inference_geo', 'fallback_credit_token'] as const;

/** A caller's request as far as any provider can count it. @throws {GatewayError} `unsupported_parameter` */
export function countedBody(caller: TextProtocol, body: unknown): unknown {
  if (caller === 'gemini' && isJsonObject(body)) return usualSpelling(body);
  if (caller !== 'messages' || !isJsonObject(body)) return effectiveBody(caller, body);
  const counted = { ...body };
  for (const member of NOT_COUNTED) Reflect.deleteProperty(counted, member);
  return effectiveBody(caller, counted);
}

/** An endpoint that counts, and how its callers read the number. */
export interface CountEndpoint {
  readonly endpoint: TextEndpoint;
  readonly replyBody: (inputTokens: number) => object;
  /** Not passed to a channel of the same protocol as it is. */
  readonly isRewritten?: true;
}

export const MESSAGES_COUNT: CountEndpoint = {
  endpoint: COUNT_TOKENS,
  replyBody: (inputTokens) => ({ input_tokens: inputTokens }),
};

export const RESPONSES_COUNT: CountEndpoint = {
  endpoint: INPUT_TOKENS,
  replyBody: (inputTokens) => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
};

/** Its requests come in two forms, and providers take one: they are written again. */
export const GEMINI_COUNT: CountEndpoint = {
  endpoint: GEMINI_COUNT_TOKENS,
  isRewritten: true,
  replyBody: (inputTokens) => ({ totalTokens: inputTokens }),
};
