import { z } from 'zod';
import { listOf, maybe, maybeList, maybeNumber, maybeText } from '../json/reply-members.ts';

/**
 * The parts of the Messages protocol that translation uses, in their wire form. No defaults are filled in, and unknown
 * members are allowed. An object of a request (`z.object`) names every member that translation reads: zod leaves out
 * the others, and the reader reports them. An object whose schema depends on its `type` is open (`z.looseObject`) until
 * it is read with that schema. Objects of replies are open.
 */

const optionalText = z.string().nullish();
const optionalNumber = z.number().nullish();

const textBlock = z.object({ type: z.literal('text'), text: z.string() });

const imageSource = z.discriminatedUnion('type', [
  z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.object({ type: z.literal('url'), url: z.string() }),
  z.object({ type: z.literal('file'), file_id: z.string() }),
]);
const imageBlock = z.object({ type: z.literal('image'), source: imageSource });

const documentBlock = z.object({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    ...imageSource.options,
    z.object({ type: z.literal('text'), media_type: optionalText, data: z.string() }),
    z.object({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, imageBlock]))]),
    }),
  ]),
  title: optionalText,
  context: optionalText,
  citations: z.object({ enabled: z.boolean().nullish() }).nullish(),
});

const searchResultBlock = z.object({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock),
});

/** The maker of a call: the model itself (`direct`), or code that it ran. */
const caller = z.object({ type: z.string() }).nullish();

/** The blocks of conversation; all others are recognised by their `type` alone. */
export const MessagesBlock = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
  thinking: z.object({ type: z.literal('thinking'), thinking: z.string(), signature: optionalText }),
  redacted_thinking: z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  tool_use: z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    caller,
    toolset_name: optionalText,
  }),
  tool_result: z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    toolset_name: optionalText,
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
    is_error: z.boolean().nullish(),
  }),
  browser_state: z.object({
    type: z.literal('browser_state'),
    tabs: z.array(
      z.object({
        tab_id: z.string(),
        title: optionalText,
        url: optionalText,
        active: z.boolean().nullish(),
      }),
    ),
    state_changes: z.array(z.looseObject({ type: z.string() })).nullish(),
  }),
  server_tool_use: z.looseObject({
    type: z.literal('server_tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
  }),
  web_search_tool_result: z.looseObject({
    type: z.literal('web_search_tool_result'),
    tool_use_id: z.string(),
    content: z.union([
      z.array(z.looseObject({ url: z.string(), title: optionalText })),
      z.looseObject({ error_code: optionalText }),
    ]),
  }),
} as const;

const blocks = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

/** A tool that the caller's program runs. */
export const MessagesTool = z.object({
  type: optionalText,
  name: z.string(),
  description: optionalText,
  input_schema: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

/** A tool whose schema its type implies, such as `bash_20250124`. */
export const MessagesKnownTool = z.object({
  type: z.string(),
  name: z.string(),
  strict: z.boolean().nullish(),
  display_width_px: optionalNumber,
  display_height_px: optionalNumber,
  enable_zoom: z.boolean().nullish(),
});

export const MessagesToolset = z.object({
  type: z.string(),
  configs: z.record(z.string(), z.object({ enabled: z.boolean().nullish() }).nullable()).nullish(),
});

/** Members of `web_search_2025…` tools. */
export const MessagesWebSearchTool = z.object({
  type: z.string(),
  name: optionalText,
  max_uses: optionalNumber,
  allowed_domains: z.array(z.string()).nullish(),
  blocked_domains: z.array(z.string()).nullish(),
  user_location: z.record(z.string(), z.unknown()).nullish(),
});

const parallelUse = { disable_parallel_tool_use: z.boolean().nullish() };

export const MessagesRequestWire = z.object({
  model: z.string(),
  max_tokens: z.number().optional(),
  messages: z.array(z.object({ role: z.enum(['user', 'assistant', 'system']), content: blocks })),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  temperature: optionalNumber,
  top_p: optionalNumber,
  top_k: optionalNumber,
  tools: z.array(z.looseObject({ type: optionalText })).nullish(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.object({ type: z.enum(['auto', 'any', 'none']), ...parallelUse }),
      z.object({ type: z.literal('tool'), name: z.string(), ...parallelUse }),
    ])
    .nullish(),
  thinking: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('enabled'), budget_tokens: optionalNumber, display: optionalText }),
      z.object({ type: z.literal('adaptive'), display: optionalText }),
      z.object({ type: z.enum(['disabled', 'between_tools']) }),
    ])
    .nullish(),
  output_config: z
    .object({
      effort: optionalText,
      format: z
        .object({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })
        .nullish(),
    })
    .nullish(),
  metadata: z.object({ user_id: optionalText }).nullish(),
  service_tier: optionalText,
  container: z.union([z.string(), z.looseObject({ skills: z.array(z.unknown()).nullish() })]).nullish(),
  mcp_servers: z.array(z.unknown()).nullish(),
});
export type MessagesRequestWire = z.infer<typeof MessagesRequestWire>;

/** How a reply ended: the same members at the top of a message and in `message_delta.delta`. */
const ending = {
  stop_reason: maybe(z.union([z.string(), z.int().transform(String)]).nullable()),
  stop_sequence: maybeText,
  stop_details: maybe(z.looseObject({ category: maybeText, explanation: maybeText })),
};
export type MessagesEnding = { [Key in keyof typeof ending]?: z.infer<(typeof ending)[Key]> };

export const MessagesCitation = z.looseObject({
  type: z.string(),
  url: maybeText,
  source: maybeText,
  title: maybeText,
  file_id: maybeText,
  document_title: maybeText,
  cited_text: maybeText,
  encrypted_index: maybeText,
});
export type MessagesCitation = z.infer<typeof MessagesCitation>;

const typed = z.looseObject({ type: z.string() });

/** The blocks of a reply, limited to the members that are read. llama.cpp begins a `tool_use` without `input`. */
export const MessagesOutputBlock = {
  text: z.looseObject({ text: z.string(), citations: maybeList(MessagesCitation) }),
  thinking: z.looseObject({ thinking: z.string(), signature: maybeText }),
  redacted_thinking: z.looseObject({ data: z.string() }),
  tool_use: z.looseObject({ id: maybeText, name: z.string(), input: z.unknown().optional() }),
  server_tool_use: z.looseObject({ id: maybeText, input: z.unknown().optional() }),
  web_search_tool_result: z.looseObject({
    tool_use_id: maybeText,
    content: maybeList(z.looseObject({ url: z.string(), title: maybeText })),
  }),
} as const;

export const MessagesReply = z.looseObject({
  content: listOf(typed),
  ...ending,
});
export type MessagesReply = z.infer<typeof MessagesReply>;

/** One stream event. All members beyond `type` depend on it; those that translation reads are named. */
export const MessagesEvent = z.looseObject({
  type: maybeText,
  message: maybe(z.looseObject({})),
  index: maybeNumber,
  content_block: maybe(typed),
  delta: maybe(
    z.looseObject({
      type: maybeText,
      text: maybeText,
      partial_json: maybeText,
      thinking: maybeText,
      signature: maybeText,
      citation: maybe(MessagesCitation),
      ...ending,
    }),
  ),
  error: maybe(z.looseObject({ type: maybeText, message: maybeText })),
});
export type MessagesEvent = z.infer<typeof MessagesEvent>;
