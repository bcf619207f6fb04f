import { z } from 'zod';
import { listOf, maybe, maybeList, maybeNumber, maybeText } from '../json/reply-members.ts';
import { ModerationWire } from './moderation-wire.ts';

/**
 * Chat Completions in its wire form: OpenAI's own, and for replies everything that compatible servers are seen to send.
 * No defaults are filled in, and unknown members are allowed. An object of a request (`z.object`) names every member that
 * translation reads: zod leaves out the others, and the reader reports them. Objects of replies are open.
 */

const optionalText = z.string().nullish();

export const ChatContentPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({
    type: z.literal('image_url'),
    image_url: z.object({ url: z.string(), detail: optionalText }),
  }),
  z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string(), format: z.string() }),
  }),
  z.object({
    type: z.literal('file'),
    file: z.object({ file_id: optionalText, file_data: optionalText, filename: optionalText }),
  }),
]);
export type ChatContentPart = z.infer<typeof ChatContentPart>;

const content = z.union([z.string(), z.array(ChatContentPart)]);

/** The index of a streamed call. Clients that collect a stream send it back; here it has no meaning. */
const callIndex = { index: z.unknown().optional() };

const toolCall = z.discriminatedUnion('type', [
  z.object({
    ...callIndex,
    type: z.literal('function'),
    id: z.string(),
    function: z.object({ name: z.string(), arguments: z.string() }),
  }),
  z.object({
    ...callIndex,
    type: z.literal('custom'),
    id: z.string(),
    custom: z.object({ name: z.string(), input: z.string() }),
  }),
]);

/** Reasoning in the form of chat-compatible servers; the gateway sends it and accepts it back in this form. */
export const ChatReasoningDetail = z.object({
  type: z.string(),
  text: optionalText,
  data: optionalText,
  signature: optionalText,
});

export const ChatMessage = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('developer'), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
    refusal: optionalText,
    tool_calls: z.array(toolCall).nullish(),
    reasoning_content: optionalText,
    reasoning_details: z.array(ChatReasoningDetail).nullish(),
    audio: z.unknown().optional(),
    function_call: z.unknown().optional(),
  }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string(), name: optionalText }),
]);
export type ChatMessage = z.infer<typeof ChatMessage>;

export const ChatTool = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: z.string(),
      description: optionalText,
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
  z.object({
    type: z.literal('custom'),
    custom: z.object({
      name: z.string(),
      description: optionalText,
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('text') }),
          z.object({
            type: z.literal('grammar'),
            grammar: z.object({ syntax: z.string(), definition: z.string() }),
          }),
        ])
        .nullish(),
    }),
  }),
]);

const named = z.object({ name: z.string() });
const choiceOfTool = z.discriminatedUnion('type', [
  z.object({ type: z.literal('function'), function: named }),
  z.object({ type: z.literal('custom'), custom: named }),
]);

/** -1, as some servers have it, or 0 is no bound. */
const tokenBound = z
  .int()
  .transform((bound) => (bound > 0 ? bound : null))
  .nullish();

/** A Chat Completions request, in the values of any server as far as other protocols have their meaning. */
export const ChatRequest = z.object({
  model: z.string().min(1),
  messages: z.array(ChatMessage).min(1),
  max_completion_tokens: tokenBound,
  max_tokens: tokenBound,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.unknown().optional(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  n: z.int().min(1).max(128).nullish(),
  tools: z.array(ChatTool).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      // Mistral's word, which vLLM takes too.
      z.literal('any').transform(() => 'required' as const),
      z.discriminatedUnion('type', [
        ...choiceOfTool.options,
        z.object({
          type: z.literal('allowed_tools'),
          allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(choiceOfTool) }),
        }),
      ]),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({
        type: z.literal('json_schema'),
        json_schema: z.object({
          name: z.string(),
          description: optionalText,
          schema: z.record(z.string(), z.unknown()).nullish(),
          strict: z.boolean().nullish(),
        }),
      }),
    ])
    .nullish(),
  reasoning_effort: optionalText,
  verbosity: optionalText,
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  modalities: z.array(z.string()).nullish(),
  audio: z.unknown().optional(),
  functions: z.unknown().optional(),
  function_call: z.unknown().optional(),
  store: z.boolean().nullish(),
  web_search_options: z
    .object({
      search_context_size: optionalText,
      user_location: z
        .object({
          type: z.literal('approximate').nullish(),
          approximate: z.record(z.string(), z.unknown()).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  service_tier: optionalText,
  moderation: ModerationWire.nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  safety_identifier: optionalText,
  user: optionalText,
  prompt_cache_key: optionalText,
  prompt_cache_retention: optionalText,
});
export type ChatRequest = z.infer<typeof ChatRequest>;

const annotation = z.looseObject({ type: z.string() });
const logprobs = z.looseObject({ content: maybe(z.array(z.unknown())) });

const calledFunction = z.looseObject({ name: maybeText, arguments: z.unknown().optional() });

/** A tool call, whole or a fragment of one: servers leave out or repeat any member. */
export const ChatToolCallFragment = z.looseObject({
  index: maybeNumber,
  id: maybeText,
  type: maybeText,
  function: maybe(calledFunction),
  custom: maybe(z.looseObject({ name: maybeText, input: maybeText })),
});
export type ChatToolCallFragment = z.infer<typeof ChatToolCallFragment>;

/** Mistral's reasoning models answer in parts: `thinking` is a text or a list of text parts. */
const outputPart = z.looseObject({
  type: z.string(),
  text: maybeText,
  thinking: maybe(z.union([z.string(), listOf(z.looseObject({ text: z.string() }))])),
});
export type ChatOutputPart = z.infer<typeof outputPart>;

/** `message` of a reply and `delta` of a chunk have the same members. Reasoning members are read by the channel's quirks. */
const ChatOutput = z.looseObject({
  content: z.union([z.string(), listOf(outputPart)]).nullish(),
  refusal: maybeText,
  tool_calls: maybeList(ChatToolCallFragment),
  function_call: maybe(calledFunction),
  annotations: maybeList(annotation),
});
export type ChatOutput = z.infer<typeof ChatOutput>;

const serverError = z.union([
  z.string(),
  z.looseObject({
    message: maybeText,
    type: maybeText,
    code: maybe(z.union([z.string(), z.number()])),
  }),
]);

/** The common members of a completion and a chunk. */
const envelope = { service_tier: maybeText, error: maybe(serverError) };
/** A word; some proxies send Gemini's number. */
const finishReason = maybe(z.union([z.string(), z.int().transform(String)]).nullable());
const choiceEnd = {
  finish_reason: finishReason,
  logprobs: maybe(logprobs),
  error: maybe(serverError.nullable()),
};

export const ChatReply = z.looseObject({
  choices: z.array(z.looseObject({ message: ChatOutput.nullish(), ...choiceEnd })).nullish(),
  ...envelope,
});
export type ChatReply = z.infer<typeof ChatReply>;

export const ChatChunk = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        index: maybeNumber,
        delta: ChatOutput.nullish(),
        message: ChatOutput.nullish(),
        ...choiceEnd,
      }),
    )
    .nullish(),
  ...envelope,
});
export type ChatChunk = z.infer<typeof ChatChunk>;
