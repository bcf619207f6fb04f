import * as z from 'zod/mini';
import { ErrorBody } from '../exchange/relay.ts';
import {
  dataUrl,
  functionsOf,
  jsonOf,
  NO_ANSWER,
  SCHEMA_NAME,
  type TextAnswer,
  type TextProtocol,
  type TextReader,
  type ToolCall,
} from './protocol.ts';

const text = z.nullish(z.string());

/** A tool's call comes in pieces; only the first one has its id and name. */
const CallPiece = z.object({
  index: z.number(),
  id: text,
  function: z.optional(z.object({ name: text, arguments: text })),
  custom: z.optional(z.object({ name: text, input: text })),
});

const Chunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({
        content: text,
        refusal: text,
        reasoning_content: text,
        reasoning: text,
        tool_calls: z.nullish(z.array(CallPiece)),
      }),
      finish_reason: text,
    }),
  ),
});

export const chat: TextProtocol = {
  label: 'Chat Completions',
  path: '/v1/chat/completions',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],

  body: ({ model, settings: { system, maxOutputTokens, temperature, effort, tools, schema }, input }) => ({
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...input],
    ...(maxOutputTokens !== undefined && { max_completion_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(tools.length > 0 && {
      tools: functionsOf(tools, (definition) => ({ type: 'function', function: definition })),
    }),
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name: SCHEMA_NAME, schema, strict: true } },
    }),
    stream: true,
    stream_options: { include_usage: true },
  }),

  userMessage: ({ text, pictures }) => [
    {
      role: 'user',
      content:
        pictures.length === 0
          ? text
          : [
              ...pictures.map((picture) => ({ type: 'image_url', image_url: { url: dataUrl(picture) } })),
              ...(text === '' ? [] : [{ type: 'text', text }]),
            ],
    },
  ],

  toolResults: (results) =>
    results.map(({ call: { id }, output }) => ({ role: 'tool', tool_call_id: id, content: output })),

  createReader,
};

function createReader(): TextReader {
  let answer: TextAnswer = NO_ANSWER;
  const calls = new Map<number, ToolCall>();

  const addCallPiece = ({ index, id, function: called, custom }: z.infer<typeof CallPiece>): void => {
    const before = calls.get(index) ?? { id: '', name: '', arguments: '', isCustom: custom !== undefined };
    calls.set(index, {
      ...before,
      id: id || before.id,
      name: before.name + (called?.name ?? custom?.name ?? ''),
      arguments: before.arguments + (called?.arguments ?? custom?.input ?? ''),
    });
  };

  return {
    answer: () => answer,
    read: ({ data }) => {
      const json = jsonOf(data);
      const { data: failure } = ErrorBody.safeParse(json);
      if (failure !== undefined) {
        const { message, code, type } = failure.error;
        answer = { ...answer, error: { message, code: code ?? type ?? null } };
      }
      const choice = Chunk.safeParse(json).data?.choices[0];
      if (choice === undefined) return;
      const { content, refusal, reasoning_content, reasoning, tool_calls } = choice.delta;
      for (const piece of tool_calls ?? []) addCallPiece(piece);
      const next = {
        ...answer,
        text: answer.text + (content ?? ''),
        refusal: answer.refusal + (refusal ?? ''),
        reasoning: answer.reasoning + (reasoning_content ?? reasoning ?? ''),
        toolCalls: [...calls.values()],
        stopReason: choice.finish_reason ?? answer.stopReason,
      };
      answer = { ...next, output: [messageOf(next)] };
    },
  };
}

/** The answer as a message of the next request. */
const messageOf = ({ text, refusal, toolCalls }: TextAnswer) => ({
  role: 'assistant',
  content: text === '' ? null : text,
  ...(refusal !== '' && { refusal }),
  ...(toolCalls.length > 0 && {
    tool_calls: toolCalls.map(({ id, name, isCustom, arguments: input }) =>
      isCustom
        ? { id, type: 'custom', custom: { name, input } }
        : { id, type: 'function', function: { name, arguments: input } },
    ),
  }),
});
