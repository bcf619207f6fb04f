import type { Answer, AnswerUsage, Finish } from '../answer/answer.ts';
import type { JsonObject } from '../json-value.ts';
import type { Ids } from '../provider.ts';
import type { HasQuirk } from './quirks.ts';

const FINISH_REASONS: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'stop',
  'stop-sequence': 'stop',
};

/** The answer as the members of a chat message. */
export interface ChatAnswer {
  readonly content: string | null;
  readonly refusal: string | null;
  /** Shown only by servers that deviate; empty without reasoning. */
  readonly reasoning: string;
  readonly toolCalls: readonly JsonObject[];
  readonly finishReason: string;
  readonly usage: JsonObject;
}

const chatUsage = (usage: AnswerUsage): JsonObject => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});

export const chatAnswer = ({ parts, finish, usage }: Answer, ids: Ids, has: HasQuirk): ChatAnswer => {
  const textOf = (kind: 'text' | 'refusal' | 'reasoning'): string =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('');
  const reasoning = textOf('reasoning');
  const text =
    has('think-tags') && reasoning ? `<think>${reasoning}</think>${textOf('text')}` : textOf('text');
  const toolCalls = parts.flatMap((part): JsonObject[] => {
    if (part.kind === 'custom-call') {
      const { name, input } = part;
      return [{ id: ids.next('call_'), type: 'custom', custom: { name, input } }];
    }
    if (part.kind !== 'tool-call') return [];
    const { name, arguments: text } = part;
    return [{ id: ids.next('call_'), type: 'function', function: { name, arguments: text } }];
  });
  return {
    content: text === '' ? null : text,
    refusal: textOf('refusal') || null,
    reasoning,
    toolCalls,
    finishReason: has('finish-stop') ? 'stop' : FINISH_REASONS[finish],
    usage: chatUsage(usage),
  };
};

/** The first members of every object of one reply. */
export interface ChatHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

const reasoningMember = (reasoning: string, has: HasQuirk): JsonObject => {
  if (reasoning === '') return {};
  if (has('reasoning-content')) return { reasoning_content: reasoning };
  return has('reasoning') ? { reasoning } : {};
};

const withObjectArguments = (call: JsonObject, text: unknown): JsonObject => ({
  ...call,
  arguments: typeof text === 'string' ? JSON.parse(text) : text,
});

export const shownCalls = (calls: readonly JsonObject[], has: HasQuirk): readonly JsonObject[] => {
  if (!has('arguments-object')) return calls;
  return calls.map((call) => {
    const definition = call.function;
    if (typeof definition !== 'object' || definition === null || !('arguments' in definition)) return call;
    return { ...call, function: withObjectArguments({ ...definition }, definition.arguments) };
  });
};

/** A part of reasoning in the form of Mistral's models. */
export const thinkingPart = (text: string): JsonObject => ({
  type: 'thinking',
  thinking: [{ type: 'text', text }],
});

const shownContent = ({ content, reasoning }: ChatAnswer, has: HasQuirk): string | null | JsonObject[] =>
  has('thinking-parts') && reasoning !== ''
    ? [thinkingPart(reasoning), { type: 'text', text: content ?? '' }]
    : content;

/** The reply to a request without `stream`. */
export const chatCompletion = (head: ChatHead, answer: ChatAnswer, has: HasQuirk): JsonObject => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: shownContent(answer, has),
        refusal: answer.refusal,
        ...reasoningMember(answer.reasoning, has),
        ...(answer.toolCalls.length > 0 && { tool_calls: shownCalls(answer.toolCalls, has) }),
        annotations: [],
      },
      logprobs: null,
      finish_reason: answer.finishReason,
    },
  ],
  ...(!has('no-usage') && { usage: answer.usage }),
  service_tier: 'default',
  system_fingerprint: 'fp_simulator',
});
