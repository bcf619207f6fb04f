import { composeAnswer } from '../answer/compose-answer.ts';
import type { Prompt } from '../answer/prompt.ts';
import { checkOpenAi } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asNumber, asObject, asText, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { checkModelExists } from '../models/list-models.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { DONE_FRAME, dataFrame, jsonReply, streamReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { countTokens, splitWords } from '../tokens.ts';
import { quirksOf } from './quirks.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  prompt: { kind: 'any', required: true },
  suffix: { kind: 'string' },
  max_tokens: { kind: 'integer', min: 0 },
  temperature: { kind: 'decimal', min: 0, max: 2 },
  top_p: { kind: 'decimal', min: 0, max: 1 },
  n: { kind: 'integer', min: 1, max: 128 },
  best_of: { kind: 'integer', min: 1, max: 20 },
  echo: { kind: 'boolean' },
  logprobs: { kind: 'integer', min: 0, max: 5 },
  stop: { kind: 'any' },
  presence_penalty: { kind: 'decimal', min: -2, max: 2 },
  frequency_penalty: { kind: 'decimal', min: -2, max: 2 },
  logit_bias: { kind: 'object' },
  seed: { kind: 'integer' },
  stream: { kind: 'boolean' },
  stream_options: { kind: 'object' },
  user: { kind: 'string' },
};

/** Where a request sets no bound. */
const USUAL_MAX_TOKENS = 16;

const ERROR = {
  message: 'The server had an error while processing your request.',
  type: 'server_error',
  param: null,
  code: null,
};

/** Texts as they are; tokens have no vocabulary here. */
function promptsOf(prompt: unknown): readonly { readonly text: string; readonly tokens: number }[] {
  const list = asList(prompt);
  const all = typeof prompt === 'string' || typeof list[0] === 'number' ? [prompt] : list;
  if (all.length === 0)
    throw invalidRequest("'$.prompt' is invalid. Please check the API reference.", null, 'prompt');
  return all.map((one) => {
    if (typeof one === 'string') return { text: one, tokens: countTokens(one) };
    const tokens = asList(one);
    return { text: tokens.map((token) => `t${String(token)}`).join(' '), tokens: tokens.length };
  });
}

const promptOf = (body: JsonObject, text: string, inputTokens: number): Prompt => ({
  ...{ model: asText(body.model), userText: text, toolResults: [], inputTokens, tools: [] },
  ...{ hosted: { webSearch: false, fileSearch: false }, toolChoice: { mode: 'none' }, parallelCalls: false },
  ...{ maxTokens: asNumber(body.max_tokens) ?? USUAL_MAX_TOKENS, reasons: false, format: null },
  stopSequences: typeof body.stop === 'string' ? [body.stop] : asList(body.stop).map(asText),
});

/** `POST /v1/completions`: goes on with each prompt, `n` times. */
export const createTextCompletion: Handler = (call) => {
  const { provider } = call;
  const body = readJson(call);
  const model = asText(body.model);
  const prompts = promptsOf(body.prompt);
  call.applyDirectives(prompts.map(({ text }) => text).join('\n'), model);
  checkOpenAi(body, RULES, provider.refusesUnknown);
  checkModelExists(model);
  const has = quirksOf(call.wish().quirks);
  if (has('error-200')) return jsonReply({ error: ERROR });
  const times = asNumber(body.n) ?? 1;
  const answers = prompts.flatMap(({ text, tokens }) =>
    Array.from({ length: times }, () => {
      const { parts, finish, usage } = composeAnswer(promptOf(body, text, tokens), call.wish());
      const written = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
      return {
        text: body.echo === true ? text + written : written,
        finish_reason: finish === 'length' ? 'length' : 'stop',
        outputTokens: usage.outputTokens,
      };
    }),
  );
  const inputTokens = prompts.reduce((sum, { tokens }) => sum + tokens, 0);
  const outputTokens = answers.reduce((sum, one) => sum + one.outputTokens, 0);
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  const head = {
    ...{ id: provider.ids.next('cmpl-'), object: 'text_completion' },
    ...{ created: provider.nowSeconds(), model },
  };
  const counted = { inputTokens, outputTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const ledger = tokenLedgerEntry(model, counted);
  const choice = (index: number, text: string, finish_reason: string | null) => ({
    ...{ text, index, logprobs: null, finish_reason },
  });
  if (body.stream !== true) {
    const choices = answers.map(({ text, finish_reason }, index) => choice(index, text, finish_reason));
    return jsonReply({ ...head, choices, ...(!has('no-usage') && { usage }) }, ledger);
  }
  const includesUsage = asObject(body.stream_options).include_usage === true && !has('no-usage');
  function* frames(): Generator<string> {
    for (const [index, { text, finish_reason }] of answers.entries()) {
      for (const piece of splitWords(text))
        yield dataFrame({
          ...head,
          choices: [choice(index, piece, null)],
          ...(includesUsage && { usage: null }),
        });
      yield dataFrame({
        ...head,
        choices: [choice(index, '', finish_reason)],
        ...(includesUsage && { usage: null }),
      });
    }
    if (includesUsage) yield dataFrame({ ...head, choices: [], usage });
    if (!has('no-done')) yield DONE_FRAME;
  }
  return streamReply(frames(), { ledger, errorFrames: () => [dataFrame({ error: ERROR })] });
};
