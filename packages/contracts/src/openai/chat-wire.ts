import { z } from 'zod';

/**
 * Chat Completions as it travels: OpenAI's own form, and for replies everything that servers of its kind are seen to
 * send. Only what the gateway acts on is named; every object is open and nothing is filled in.
 */

const optionalText = z.string().nullish();
const optionalNumber = z.number().nullish();

export const ChatContentPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({ url: z.string(), detail: optionalText }),
  }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }),
  }),
  z.looseObject({
    type: z.literal('file'),
    file: z.looseObject({ file_id: optionalText, file_data: optionalText, filename: optionalText }),
  }),
]);
export type ChatContentPart = z.infer<typeof ChatContentPart>;

const content = z.union([z.string(), z.array(ChatContentPart)]);

const toolCall = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function'),
    id: z.string(),
    function: z.looseObject({ name: z.string(), arguments: z.string() }),
  }),
  z.looseObject({
    type: z.literal('custom'),
    id: z.string(),
    custom: z.looseObject({ name: z.string(), input: z.string() }),
  }),
]);

/** Reasoning as chat-compatible servers show it; the gateway sends it so and takes it back. */
export const ChatReasoningDetail = z.looseObject({
  type: z.string(),
  text: optionalText,
  summary: optionalText,
  data: optionalText,
  signature: optionalText,
});

export const ChatMessage = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content }),
  z.looseObject({ role: z.literal('developer'), content }),
  z.looseObject({ role: z.literal('user'), content }),
  z.looseObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    refusal: optionalText,
    tool_calls: z.array(toolCall).nullish(),
    reasoning_content: optionalText,
    reasoning_details: z.array(ChatReasoningDetail).nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);
export type ChatMessage = z.infer<typeof ChatMessage>;

export const ChatTool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function'),
    function: z.looseObject({
      name: z.string(),
      description: optionalText,
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
  z.looseObject({
    type: z.literal('custom'),
    custom: z.looseObject({
      name: z.string(),
      description: optionalText,
      format: z
        .looseObject({
          type: z.string(),
          grammar: z.looseObject({ syntax: z.string(), definition: z.string() }).optional(),
        })
        .nullish(),
    }),
  }),
]);

const named = z.looseObject({ name: z.string() });
const choiceOfTool = z.union([
  z.looseObject({ type: z.literal('function'), function: named }),
  z.looseObject({ type: z.literal('custom'), custom: named }),
]);

/** A Chat Completions request. Unknown members travel on where the upstream speaks the same protocol. */
export const ChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(ChatMessage).min(1),
  max_completion_tokens: z.int().min(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).max(128).nullish(),
  tools: z.array(ChatTool).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      choiceOfTool,
      z.looseObject({
        type: z.literal('allowed_tools'),
        allowed_tools: z.looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(choiceOfTool) }),
      }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({ type: z.literal('json_object') }),
      z.looseObject({
        type: z.literal('json_schema'),
        json_schema: z.looseObject({
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
  web_search_options: z
    .looseObject({
      search_context_size: optionalText,
      user_location: z.looseObject({ approximate: z.record(z.string(), z.unknown()).nullish() }).nullish(),
    })
    .nullish(),
  service_tier: optionalText,
  metadata: z.record(z.string(), z.string()).nullish(),
  safety_identifier: optionalText,
  user: optionalText,
  prompt_cache_key: optionalText,
  prompt_cache_retention: optionalText,
});
export type ChatRequest = z.infer<typeof ChatRequest>;

const annotation = z.looseObject({ type: z.string() });
const logprobs = z.looseObject({ content: z.array(z.unknown()).nullish() });

/** A tool call, whole or a fragment of one: servers leave out or repeat any member. */
const toolCallFragment = z.looseObject({
  index: optionalNumber,
  id: optionalText,
  type: optionalText,
  function: z.looseObject({ name: optionalText, arguments: z.unknown().optional() }).nullish(),
  custom: z.looseObject({ name: optionalText, input: optionalText }).nullish(),
});
export type ChatToolCallFragment = z.infer<typeof toolCallFragment>;

/** `message` of a reply and `delta` of a chunk hold the same members. Reasoning members are read by the channel's quirks. */
const ChatOutput = z.looseObject({
  content: optionalText,
  refusal: optionalText,
  tool_calls: z.array(toolCallFragment).nullish(),
  annotations: z.array(annotation).nullish(),
});
export type ChatOutput = z.infer<typeof ChatOutput>;

const serverError = z.union([
  z.string(),
  z.looseObject({
    message: optionalText,
    type: optionalText,
    code: z.union([z.string(), z.number()]).nullish(),
  }),
]);

export const ChatReply = z.looseObject({
  id: optionalText,
  model: optionalText,
  choices: z
    .array(
      z.looseObject({
        message: ChatOutput.nullish(),
        finish_reason: optionalText,
        logprobs: logprobs.nullish(),
      }),
    )
    .nullish(),
  service_tier: optionalText,
  error: serverError.nullish(),
});
export type ChatReply = z.infer<typeof ChatReply>;

export const ChatChunk = z.looseObject({
  id: optionalText,
  model: optionalText,
  choices: z
    .array(
      z.looseObject({
        index: optionalNumber,
        delta: ChatOutput.nullish(),
        finish_reason: optionalText,
        logprobs: logprobs.nullish(),
      }),
    )
    .nullish(),
  service_tier: optionalText,
  error: serverError.nullish(),
});
export type ChatChunk = z.infer<typeof ChatChunk>;
