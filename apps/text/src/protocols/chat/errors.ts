import type { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import type { ChatReply } from '@gateway/contracts/openai/chat-wire';
import type { CleanText } from '../conversation/public-message.ts';
import { decodeOpenAiError, encodeOpenAiError, isKnownCode } from '../responses/errors.ts';

/** Servers say an HTTP status where OpenAI says a word. */
const CODE_OF_STATUS: Record<string, string> = {
  '429': 'rate_limit_exceeded',
  '503': 'server_is_overloaded',
  '529': 'server_is_overloaded',
};

/** An error that comes as a body of status 200 or as a chunk. */
export function decodeChatError(error: NonNullable<ChatReply['error']>, clean: CleanText): GatewayError {
  if (typeof error === 'string') return decodeOpenAiError({ message: error }, clean);
  const { code, type, message } = error;
  const words = [code, type].map((word) => String(word ?? ''));
  const word = words.find(isKnownCode) ?? words.find((known) => known !== '') ?? '';
  return decodeOpenAiError({ code: lookUp(CODE_OF_STATUS, word) ?? word, message }, clean);
}

/** The chunk that ends a broken stream. */
export const encodeErrorChunk = (error: GatewayError) => ({ error: encodeOpenAiError(error) });
