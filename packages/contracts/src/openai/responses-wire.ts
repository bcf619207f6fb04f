import { z } from 'zod';
import { listOf, maybe, maybeList, maybeNumber, maybeText } from '../json/reply-members.ts';
import { ModerationWire } from './moderation-wire.ts';

/**
 * The parts of the Responses protocol that translation uses, in their wire form. No defaults are filled in, and unknown
 * members are allowed. An object of a request (`z.object`) names every member that translation reads: zod leaves out
 * the others, and the reader reports them. An object whose schema depends on its `type` is open (`z.looseObject`) until
 * it is read with that schema. Objects of replies are open.
 */

const optionalText = z.string().nullish();

export const ResponsesInputPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('output_text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({
    type: z.literal('input_image'),
    image_url: optionalText,
    file_id: optionalText,
    detail: optionalText,
  }),
  z.object({
    type: z.literal('input_file'),
    file_id: optionalText,
    file_url: optionalText,
    file_data: optionalText,
    filename: optionalText,
  }),
  z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string(), format: z.string() }),
  }),
]);
export type ResponsesInputPart = z.infer<typeof ResponsesInputPart>;

const content = z.union([z.string(), z.array(ResponsesInputPart)]);

/** An item's id and status. Clients send them back with every earlier item; they mean nothing to a model. */
const identity = { id: z.unknown().optional(), status: z.unknown().optional() };

/** The maker of a call: the model itself (`direct`), or code that it ran. */
const caller = z.object({ type: z.string() }).nullish();

const message = z.object({
  ...identity,
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
});
const functionCall = z.object({
  ...identity,
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  namespace: optionalText,
  caller,
});
const customToolCall = z.object({
  ...identity,
  type: z.literal('custom_tool_call'),
  call_id: z.string(),
  name: z.string(),
  input: z.string(),
  namespace: optionalText,
  caller,
});
const reasoningText = z.object({ type: z.unknown().optional(), text: z.string() });
const reasoning = z.object({
  ...identity,
  type: z.literal('reasoning'),
  summary: z.array(reasoningText).nullish(),
  content: z.array(reasoningText).nullish(),
  encrypted_content: optionalText,
});
/** Settings that replace the request's own from here on. */
const configurationUpdate = z.object({
  ...identity,
  type: z.literal('configuration_update'),
  reasoning: z.object({ effort: optionalText }).nullish(),
  text: z.object({ format: z.lazy(() => textFormat).nullish() }).nullish(),
});

const callOutput = <Type extends string>(type: Type) =>
  z.object({
    ...identity,
    type: z.literal(type),
    call_id: z.string(),
    output: content,
    name: optionalText,
    namespace: optionalText,
    caller,
  });

/** The input items of conversation; all others are recognised by their `type` alone. */
export const ResponsesItem = {
  message,
  function_call: functionCall,
  custom_tool_call: customToolCall,
  function_call_output: callOutput('function_call_output'),
  custom_tool_call_output: callOutput('custom_tool_call_output'),
  reasoning,
  configuration_update: configurationUpdate,
  additional_tools: z.object({
    ...identity,
    type: z.literal('additional_tools'),
    role: z.unknown().optional(),
    tools: z.array(z.looseObject({ type: z.string() })),
  }),
} as const;

export const ResponsesTool = {
  function: z.object({
    type: z.literal('function'),
    name: z.string(),
    description: optionalText,
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
  custom: z.object({
    type: z.literal('custom'),
    name: z.string(),
    description: optionalText,
    format: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('text') }),
        z.object({ type: z.literal('grammar'), syntax: z.string(), definition: z.string() }),
      ])
      .nullish(),
  }),
  namespace: z.object({
    type: z.literal('namespace'),
    name: z.string(),
    tools: z.array(z.looseObject({ type: z.string() })),
  }),
  /** A tool whose schema its type implies. A preview's environment is a word. */
  known: z.object({
    type: z.string(),
    environment: z.union([z.string(), z.object({ type: z.string() })]).nullish(),
    display_width: z.number().nullish(),
    display_height: z.number().nullish(),
  }),
  web_search: z.object({
    type: z.string(),
    filters: z.object({ allowed_domains: z.array(z.string()).nullish() }).nullish(),
    search_context_size: optionalText,
    user_location: z.record(z.string(), z.unknown()).nullish(),
  }),
} as const;

const namedTool = z.object({ type: z.string(), name: optionalText, namespace: optionalText });

/** A `tool_choice` that is an object: one tool, or a list of tools to choose from. */
export const ResponsesToolChoice = {
  named: namedTool,
  allowed_tools: z.object({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']).nullish(),
    tools: z.array(namedTool).nullish(),
  }),
} as const;

const textFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
    description: optionalText,
  }),
]);

/** A Responses request in effective form: earlier turns and references are already expanded into `input`. */
export const ResponsesRequestWire = z.object({
  model: optionalText,
  input: z.union([z.string(), z.array(z.looseObject({ type: z.string().optional() }))]).nullish(),
  instructions: optionalText,
  max_output_tokens: z
    .number()
    .transform((bound) => (bound > 0 ? bound : null))
    .nullish(),
  max_tool_calls: z.number().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_logprobs: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
  store: z.unknown().optional(),
  background: z.unknown().optional(),
  previous_response_id: z.unknown().optional(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.literal('any').transform(() => 'required' as const),
      z.looseObject({ type: z.string() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z
    .object({ effort: optionalText, summary: optionalText, generate_summary: optionalText })
    .nullish(),
  text: z.object({ format: textFormat.nullish(), verbosity: optionalText }).nullish(),
  include: z.array(z.string()).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  truncation: optionalText,
  prompt_cache_key: optionalText,
  prompt_cache_retention: optionalText,
  safety_identifier: optionalText,
  user: optionalText,
  service_tier: optionalText,
  moderation: ModerationWire.nullish(),
});
export type ResponsesRequestWire = z.infer<typeof ResponsesRequestWire>;

const typed = z.looseObject({ type: z.string() });
const texts = maybeList(z.looseObject({ text: z.string() }));

/** A call from a server. */
const outputCall = z.looseObject({ call_id: maybeText, name: z.string(), namespace: maybeText });

export const ResponsesOutputItem = {
  message: z.looseObject({
    type: z.literal('message'),
    content: listOf(
      z.discriminatedUnion('type', [
        z.looseObject({
          type: z.literal('output_text'),
          text: z.string(),
          annotations: maybeList(typed),
          logprobs: maybe(z.array(z.unknown())),
        }),
        z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
      ]),
    ),
  }),
  function_call: outputCall,
  custom_tool_call: outputCall,
  reasoning: z.looseObject({ summary: texts, content: texts, encrypted_content: maybeText }),
  web_search_call: z.looseObject({
    status: maybeText,
    action: maybe(
      z.looseObject({
        query: maybeText,
        queries: maybeList(z.string()),
        sources: maybeList(z.looseObject({ url: z.string() })),
      }),
    ),
  }),
} as const;

const responseError = z.looseObject({ code: maybeText, message: maybeText });

export const ResponsesReply = z.looseObject({
  status: maybeText,
  output: maybeList(typed),
  output_text: maybeText,
  error: maybe(responseError),
  incomplete_details: maybe(z.looseObject({ reason: maybeText })),
  service_tier: maybeText,
});
export type ResponsesReply = z.infer<typeof ResponsesReply>;

/** One stream event. All members beyond `type` depend on it; those that translation reads are named. */
export const ResponsesEvent = z.looseObject({
  type: maybeText,
  output_index: maybeNumber,
  item_id: maybeText,
  content_index: maybeNumber,
  summary_index: maybeNumber,
  delta: maybeText,
  text: maybeText,
  refusal: maybeText,
  arguments: z.unknown().optional(),
  item: maybe(typed),
  part: maybe(typed),
  annotation: z.unknown().optional(),
  logprobs: maybe(z.array(z.unknown())),
  response: maybe(ResponsesReply),
  code: maybeText,
  message: maybeText,
  error: maybe(responseError),
});
export type ResponsesEvent = z.infer<typeof ResponsesEvent>;
