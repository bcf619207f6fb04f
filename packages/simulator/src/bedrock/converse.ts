import type { Answer, AnswerPart, Finish } from '../answer/answer.ts';
import { composeAnswer } from '../answer/compose-answer.ts';
import { REDACTED_THINKING_PREFIX, seal, signThinking } from '../answer/signature.ts';
import { readJson } from '../checks/read-json.ts';
import { asList, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { lastUserText } from '../messages/read-prompt.ts';
import { isKnownModel } from '../models/list-models.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { EVENT_STREAM, jsonReply, streamReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { splitWords } from '../tokens.ts';
import { checkConverseRequest, invalidConverse } from './check-request.ts';
import { eventOf, exceptionOf, paddingOf } from './event-message.ts';
import { readConversePrompt } from './read-prompt.ts';

const STOP_REASONS: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'content_filtered',
  'stop-sequence': 'stop_sequence',
};

/** @throws ProviderError as Bedrock */
function readChecked(call: Call, body: JsonObject): { model: string; body: JsonObject } {
  const model = decodeURIComponent(call.params[0] ?? '');
  call.applyDirectives(lastUserText(body.messages), model);
  if (!isKnownModel(model)) throw invalidConverse('The provided model identifier is invalid.');
  checkConverseRequest(body, call.provider.signatureSecret);
  return { model, body };
}

interface Answered {
  readonly model: string;
  readonly answer: Answer;
  readonly blocks: readonly JsonObject[];
  readonly ending: JsonObject;
  readonly costs: JsonObject;
}

function answered(call: Call, streamed: boolean): Answered {
  const { model, body } = readChecked(call, readJson(call));
  const answer = composeAnswer(readConversePrompt(model, body), call.wish());
  const showsStop = asList(body.additionalModelResponseFieldPaths).length > 0 && answer.stopSequence !== null;
  const field = { stop_sequence: answer.stopSequence };
  return {
    model,
    answer,
    blocks: answer.parts.flatMap((part) => blockOf(part, call)),
    ending: {
      stopReason: STOP_REASONS[answer.finish],
      ...(showsStop && { additionalModelResponseFields: streamed ? { delta: field } : field }),
    },
    costs: {
      usage: usageOf(answer),
      metrics: { latencyMs: 12 },
      ...(isObject(body.serviceTier) && { serviceTier: body.serviceTier }),
    },
  };
}

function blockOf(part: AnswerPart, { provider, wish }: Call): JsonObject[] {
  const secret = provider.signatureSecret;
  switch (part.kind) {
    case 'reasoning': {
      const { text } = part;
      if (wish().redactedThinking !== true)
        return [{ reasoningContent: { reasoningText: { text, signature: signThinking(text, secret) } } }];
      const sealed = seal(REDACTED_THINKING_PREFIX, text, secret);
      return [{ reasoningContent: { redactedContent: Buffer.from(sealed).toString('base64') } }];
    }
    case 'text':
    case 'refusal':
      return [{ text: part.text }];
    case 'tool-call': {
      const input: unknown = JSON.parse(part.arguments);
      return [{ toolUse: { toolUseId: provider.ids.next('tooluse_'), name: part.name, input } }];
    }
    default:
      return [];
  }
}

function usageOf({ usage }: Answer): JsonObject {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens } = usage;
  return {
    inputTokens: inputTokens - cachedTokens - cacheWriteTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadInputTokens: cachedTokens,
    cacheWriteInputTokens: cacheWriteTokens,
    ...(cacheWriteTokens > 0 && { cacheDetails: [{ ttl: '5m', inputTokens: cacheWriteTokens }] }),
  };
}

/** `POST /model/{id}/converse` */
export const converse: Handler = (call) => {
  const { model, answer, blocks, ending, costs } = answered(call, false);
  const message = { role: 'assistant', content: blocks };
  return jsonReply({ output: { message }, ...ending, ...costs }, tokenLedgerEntry(model, answer.usage));
};

/** `POST /model/{id}/converse-stream` */
export const converseStream: Handler = (call) => {
  const { model, answer, blocks, ending, costs } = answered(call, true);
  const errorFrames = () => [
    exceptionOf('modelStreamErrorException', { message: 'The model stream broke.', originalStatusCode: 500 }),
  ];
  return {
    ...streamReply(messages(blocks, ending, costs), {
      ledger: tokenLedgerEntry(model, answer.usage),
      errorFrames,
    }),
    contentType: EVENT_STREAM,
  };
};

/** `POST /model/{id}/count-tokens`. Not for models that exist as profiles only. */
export const countConverseTokens: Handler = (call) => {
  const { model, body } = readChecked(call, asObject(asObject(readJson(call).input).converse));
  if (/^(?:us|eu|global)\./.test(model))
    throw new ProviderError({ status: 400, message: "The provided model doesn't support counting tokens." });
  return jsonReply({ inputTokens: readConversePrompt(model, body).inputTokens });
};

function* messages(blocks: readonly JsonObject[], ending: JsonObject, costs: JsonObject): Generator<Buffer> {
  let sent = 0;
  const padded = (name: string, payload: JsonObject): Buffer => {
    sent += 1;
    return eventOf(name, { ...payload, p: paddingOf(sent) });
  };
  yield padded('messageStart', { role: 'assistant' });
  for (const [contentBlockIndex, block] of blocks.entries()) {
    if (isObject(block.toolUse)) {
      const { toolUseId, name } = block.toolUse;
      yield padded('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } });
    }
    for (const delta of deltasOf(block)) yield padded('contentBlockDelta', { contentBlockIndex, delta });
    yield padded('contentBlockStop', { contentBlockIndex });
  }
  yield padded('messageStop', ending);
  yield padded('metadata', costs);
}

function* deltasOf({ text, toolUse, reasoningContent }: JsonObject): Generator<JsonObject> {
  if (text !== undefined) for (const piece of splitWords(asText(text))) yield { text: piece };
  if (isObject(toolUse)) {
    yield { toolUse: { input: '' } };
    for (const input of splitWords(JSON.stringify(toolUse.input))) yield { toolUse: { input } };
  }
  const { reasoningText, redactedContent } = asObject(reasoningContent);
  if (redactedContent !== undefined) yield { reasoningContent: { redactedContent } };
  if (!isObject(reasoningText)) return;
  for (const piece of splitWords(asText(reasoningText.text))) yield { reasoningContent: { text: piece } };
  yield { reasoningContent: { signature: reasoningText.signature } };
}
