import { z } from 'zod';

/**
 * The parts of the Responses protocol that translation acts on, as they travel. Every object is open: what is not
 * named here is no mistake. Nothing is filled in.
 */

const optionalText = z.string().nullish();

export const ResponsesInputPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('input_text'), text: z.string() }),
  z.looseObject({ type: z.literal('output_text'), text: z.string() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({
    type: z.literal('input_image'),
    image_url: optionalText,
    file_id: optionalText,
    detail: optionalText,
  }),
  z.looseObject({
    type: z.literal('input_file'),
    file_id: optionalText,
    file_url: optionalText,
    file_data: optionalText,
    filename: optionalText,
  }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }),
  }),
]);
export type ResponsesInputPart = z.infer<typeof ResponsesInputPart>;

const content = z.union([z.string(), z.array(ResponsesInputPart)]);

const message = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
});
const functionCall = z.looseObject({
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  namespace: optionalText,
});
const customToolCall = z.looseObject({
  type: z.literal('custom_tool_call'),
  call_id: z.string(),
  name: z.string(),
  input: z.string(),
  namespace: optionalText,
});
const reasoning = z.looseObject({
  type: z.literal('reasoning'),
  summary: z.array(z.looseObject({ text: z.string() })).nullish(),
  content: z.array(z.looseObject({ text: z.string() })).nullish(),
  encrypted_content: optionalText,
});
const callOutput = <Type extends string>(type: Type) =>
  z.looseObject({ type: z.literal(type), call_id: z.string(), output: content });

/** The input items that carry conversation; all others are told apart by their `type` alone. */
export const ResponsesItem = {
  message,
  function_call: functionCall,
  custom_tool_call: customToolCall,
  function_call_output: callOutput('function_call_output'),
  custom_tool_call_output: callOutput('custom_tool_call_output'),
  reasoning,
  additional_tools: z.looseObject({
    type: z.literal('additional_tools'),
    tools: z.array(z.looseObject({ type: z.string() })),
  }),
} as const;

export const ResponsesTool = {
  function: z.looseObject({
    name: z.string(),
    description: optionalText,
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
  custom: z.looseObject({
    name: z.string(),
    description: optionalText,
    format: z
      .looseObject({ type: z.string(), syntax: z.string().optional(), definition: z.string().optional() })
      .nullish(),
  }),
  namespace: z.looseObject({
    name: z.string(),
    tools: z.array(z.looseObject({ type: z.string() })),
  }),
  web_search: z.looseObject({
    filters: z.looseObject({ allowed_domains: z.array(z.string()).nullish() }).nullish(),
    search_context_size: optionalText,
    user_location: z.record(z.string(), z.unknown()).nullish(),
  }),
} as const;

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({
    type: z.string(),
    name: z.string().optional(),
    mode: z.enum(['auto', 'required']).optional(),
    tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).optional(),
  }),
]);

const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    name: z.string(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
    description: optionalText,
  }),
]);

/** A Responses request in effective form: earlier turns and references are already expanded into `input`. */
export const ResponsesRequestWire = z.looseObject({
  model: optionalText,
  input: z.union([z.string(), z.array(z.looseObject({ type: z.string().optional() }))]).nullish(),
  instructions: optionalText,
  max_output_tokens: z.number().nullish(),
  max_tool_calls: z.number().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_logprobs: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z
    .looseObject({ effort: optionalText, summary: optionalText, generate_summary: optionalText })
    .nullish(),
  text: z.looseObject({ format: textFormat.nullish(), verbosity: optionalText }).nullish(),
  include: z.array(z.string()).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  truncation: optionalText,
  prompt_cache_key: optionalText,
  prompt_cache_retention: optionalText,
  safety_identifier: optionalText,
  user: optionalText,
  service_tier: optionalText,
});
export type ResponsesRequestWire = z.infer<typeof ResponsesRequestWire>;

const annotation = z.looseObject({ type: z.string() });

export const ResponsesOutputItem = {
  message: z.looseObject({
    type: z.literal('message'),
    content: z.array(
      z.discriminatedUnion('type', [
        z.looseObject({
          type: z.literal('output_text'),
          text: z.string(),
          annotations: z.array(annotation).nullish(),
          logprobs: z.array(z.unknown()).nullish(),
        }),
        z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
      ]),
    ),
  }),
  function_call: functionCall,
  custom_tool_call: customToolCall,
  reasoning,
  web_search_call: z.looseObject({
    type: z.literal('web_search_call'),
    status: optionalText,
    action: z
      .looseObject({
        type: z.string(),
        query: optionalText,
        queries: z.array(z.string()).nullish(),
        sources: z.array(z.looseObject({ url: z.string().optional() })).nullish(),
      })
      .nullish(),
  }),
} as const;

const responseError = z.looseObject({ code: optionalText, message: optionalText, type: optionalText });

export const ResponsesReply = z.looseObject({
  id: optionalText,
  status: optionalText,
  model: optionalText,
  output: z.array(z.looseObject({ type: z.string() })).nullish(),
  error: responseError.nullish(),
  incomplete_details: z.looseObject({ reason: optionalText }).nullish(),
  service_tier: optionalText,
});
export type ResponsesReply = z.infer<typeof ResponsesReply>;

/** One stream event. All members beyond `type` depend on it; those that translation reads are named. */
export const ResponsesEvent = z.looseObject({
  type: z.string(),
  output_index: z.number().optional(),
  content_index: z.number().optional(),
  summary_index: z.number().optional(),
  delta: z.string().optional(),
  text: z.string().optional(),
  refusal: z.string().optional(),
  arguments: z.string().optional(),
  input: z.string().optional(),
  item: z.looseObject({ type: z.string() }).optional(),
  part: z.looseObject({ type: z.string() }).optional(),
  annotation: annotation.optional(),
  logprobs: z.array(z.unknown()).nullish(),
  response: ResponsesReply.optional(),
  code: optionalText,
  message: optionalText,
  error: responseError.nullish(),
});
export type ResponsesEvent = z.infer<typeof ResponsesEvent>;
