import { composeAnswer } from '../answer/compose-answer.ts';
import { readJson } from '../checks/read-json.ts';
import { asObject, asText } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { dataFrame, jsonReply, streamReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { chatFrames } from './chat-stream.ts';
import { checkChatRequest } from './check-request.ts';
import { chatAnswer, chatCompletion } from './completion.ts';
import { quirksOf } from './quirks.ts';
import { lastUserText, readChatPrompt } from './read-prompt.ts';

const ERROR = {
  message: 'The server had an error while processing your request.',
  type: 'server_error',
  param: null,
  code: null,
};

/** `POST /v1/chat/completions` */
export const createCompletion: Handler = (call) => {
  const { provider } = call;
  const body = readJson(call);
  call.applyDirectives(lastUserText(body.messages), asText(body.model));
  checkChatRequest(body, provider.refusesUnknown);
  const has = quirksOf(call.wish().quirks);
  if (has('error-200')) return jsonReply({ error: ERROR });

  const prompt = readChatPrompt(body);
  const composed = composeAnswer(prompt, call.wish());
  const answer = chatAnswer(composed, provider.ids, has);
  const head = { id: provider.ids.next('chatcmpl-'), created: provider.nowSeconds(), model: prompt.model };
  const ledger = tokenLedgerEntry(prompt.model, composed.usage);
  if (body.stream !== true) return jsonReply(chatCompletion(head, answer, has), ledger);

  const includesUsage = asObject(body.stream_options).include_usage === true;
  return streamReply(chatFrames({ head, answer, includesUsage, has }), {
    ledger,
    errorFrames: () => [dataFrame({ error: ERROR })],
  });
};

/** `POST /v1/chat/completions/input_tokens`, which llama.cpp has */
export const countCompletionInput: Handler = (call) => {
  const body = readJson(call);
  call.applyDirectives(lastUserText(body.messages), asText(body.model));
  const input_tokens = readChatPrompt(body).inputTokens;
  return jsonReply({ object: 'response.input_tokens', input_tokens });
};
