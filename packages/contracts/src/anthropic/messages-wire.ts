import { z } from 'zod';

/**
 * The parts of the Messages protocol that translation acts on, as they travel. Every object is open: what is not
 * named here is no mistake. Nothing is filled in.
 */

const optionalText = z.string().nullish();
const optionalNumber = z.number().nullish();

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });

const imageSource = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal('url'), url: z.string() }),
  z.looseObject({ type: z.literal('file'), file_id: z.string() }),
]);
const imageBlock = z.looseObject({ type: z.literal('image'), source: imageSource });

const documentBlock = z.looseObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    ...imageSource.options,
    z.looseObject({ type: z.literal('text'), data: z.string() }),
    z.looseObject({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, imageBlock]))]),
    }),
  ]),
  title: optionalText,
  context: optionalText,
  citations: z.looseObject({ enabled: z.boolean().nullish() }).nullish(),
});

const searchResultBlock = z.looseObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock),
});

/** The blocks that carry conversation; all others are told apart by their `type` alone. */
export const MessagesBlock = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
  thinking: z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: optionalText }),
  redacted_thinking: z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  tool_use: z.looseObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
  }),
  tool_result: z.looseObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
    is_error: z.boolean().nullish(),
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

export const MessagesTool = z.looseObject({
  type: optionalText,
  name: optionalText,
  description: optionalText,
  input_schema: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

/** Members of `web_search_2025…` tools. */
export const MessagesWebSearchTool = z.looseObject({
  max_uses: optionalNumber,
  allowed_domains: z.array(z.string()).nullish(),
  blocked_domains: z.array(z.string()).nullish(),
  user_location: z.record(z.string(), z.unknown()).nullish(),
});

export const MessagesRequestWire = z.looseObject({
  model: z.string(),
  max_tokens: z.number().optional(),
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content: blocks })),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  temperature: optionalNumber,
  top_p: optionalNumber,
  top_k: optionalNumber,
  tools: z.array(MessagesTool).nullish(),
  tool_choice: z
    .looseObject({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
  thinking: z
    .looseObject({
      type: z.enum(['enabled', 'adaptive', 'disabled', 'between_tools']),
      budget_tokens: optionalNumber,
      display: optionalText,
    })
    .nullish(),
  output_config: z
    .looseObject({
      effort: optionalText,
      format: z
        .looseObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })
        .nullish(),
    })
    .nullish(),
  metadata: z.looseObject({ user_id: optionalText }).nullish(),
  service_tier: optionalText,
  container: z.union([z.string(), z.looseObject({ skills: z.array(z.unknown()).nullish() })]).nullish(),
  mcp_servers: z.array(z.unknown()).nullish(),
});
export type MessagesRequestWire = z.infer<typeof MessagesRequestWire>;

/** How a reply ended: the same members at the top of a message and in `message_delta.delta`. */
const ending = {
  stop_reason: optionalText,
  stop_sequence: optionalText,
  stop_details: z.looseObject({ category: optionalText, explanation: optionalText }).nullish(),
};
export type MessagesEnding = { [Key in keyof typeof ending]?: z.infer<(typeof ending)[Key]> };

export const MessagesCitation = z.looseObject({
  type: z.string(),
  url: optionalText,
  source: optionalText,
  title: optionalText,
  file_id: optionalText,
  document_title: optionalText,
  cited_text: optionalText,
  encrypted_index: optionalText,
});
export type MessagesCitation = z.infer<typeof MessagesCitation>;

export const MessagesTextOutput = textBlock.extend({ citations: z.array(MessagesCitation).nullish() });

export const MessagesReply = z.looseObject({
  id: optionalText,
  model: optionalText,
  content: z.array(z.looseObject({ type: z.string() })),
  ...ending,
});
export type MessagesReply = z.infer<typeof MessagesReply>;

/** One stream event. All members beyond `type` depend on it; those that translation reads are named. */
export const MessagesEvent = z.looseObject({
  type: z.string(),
  message: z.looseObject({ id: optionalText, model: optionalText }).optional(),
  index: z.number().optional(),
  content_block: z.looseObject({ type: z.string() }).optional(),
  delta: z
    .looseObject({
      type: z.string().optional(),
      text: z.string().optional(),
      partial_json: z.string().optional(),
      thinking: z.string().optional(),
      signature: z.string().optional(),
      citation: MessagesCitation.optional(),
      ...ending,
    })
    .optional(),
  error: z.looseObject({ type: optionalText, message: optionalText }).optional(),
});
export type MessagesEvent = z.infer<typeof MessagesEvent>;
