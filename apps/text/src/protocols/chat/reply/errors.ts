import type { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import type { ChatReply } from '@gateway/contracts/openai/chat-wire';
import { openaiError } from '@gateway/service-kit/error-response';
import { type JsonObject, objectAt, textAt } from '../../../wire/json-object.ts';
import { decodeOpenAiError, isKnownCode } from '../../../wire/openai-errors.ts';
import type { CleanText } from '../../../wire/public-message.ts';
import { dataFrame } from '../../../wire/stream/sse-frames.ts';

/** Servers send an HTTP status where OpenAI sends a word. */
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

/** What the upstream's own error chunk calls its failure; null in every other chunk. */
export function errorWordOf(chunk: JsonObject): string | null {
  if ((chunk.error ?? null) === null) return null;
  const error = objectAt(chunk, 'error');
  return (error && (textAt(error, 'code') ?? textAt(error, 'type'))) ?? 'error';
}

/** The chunk that ends a stream which broke: clients throw on it. A `[DONE]` after it would mean that the answer is whole. */
export const errorFrame = (error: GatewayError): string => dataFrame({ error: openaiError(error) });
