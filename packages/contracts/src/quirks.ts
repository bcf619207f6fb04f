import { z } from 'zod';

/** Reasoning effort in both protocols' words, weakest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** Whose models make reasoning that comes back sealed. `open` is an open-weight model's plain trace, which has no seal. */
export const REASONING_VENDORS = ['anthropic', 'openai', 'google', 'xai', 'amazon', 'open'] as const;

/**
 * How one channel (or one of its models) departs from its protocol's published form. Data only: the converters read it,
 * presets and the configuration set it. Every member has a default, so `{}` is a server without departures.
 */
export const Quirks = z.strictObject({
  // Request members
  /** Chat: the member that bounds the output. OpenAI itself requires `max_completion_tokens`, most others only accept the old name. */
  maxTokensMember: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** Chat: whether `stream_options: {include_usage: true}` is understood. Without it usage may be missing in streams. */
  streamOptions: z.boolean().default(true),
  /** Whether `parallel_tool_calls` is understood. */
  parallelToolCalls: z.boolean().default(true),
  /**
   * Whether requests in its own protocol may have values that only its maker documents, such as `tool_choice: any` or
   * `max_tokens: -1`. Elsewhere they are refused before anything is sent.
   */
  ownValues: z.boolean().default(true),
  /**
   * Request members that this server refuses, by their wire name, inside others by a path such as `tools.*.strict`. They are
   * left out and reported; where the answer would be another one without them, another channel is tried, else it is an error.
   */
  refusedMembers: z.array(z.string()).default([]),
  /** `drop` if temperature, top_p and top_k are refused (reasoning models, Claude under version 2026-10-21). */
  sampling: z.enum(['keep', 'drop']).default('keep'),
  /** Converse: the path of `top_k` in `additionalModelRequestFields`, such as `inferenceConfig.topK`; null if it has none. */
  topKMember: z.string().min(1).nullable().default(null),
  /** Chat, Converse and Gemini: how many stop sequences are taken; the gateway cuts the text itself if there are more. 0: none. */
  maxStopSequences: z.int().min(0).default(4),
  /** Chat and Gemini: whether `presence_penalty` and `frequency_penalty` are understood. */
  penalties: z.boolean().default(true),

  /** Request members that have another name here, by a path such as those of `refusedMembers`. */
  renamedMembers: z.record(z.string(), z.string()).default({}),
  /** Messages: values of `anthropic-beta` that this server refuses; `name-*` for all that begin so. Left out and reported. */
  refusedBetas: z.array(z.string()).default([]),
  /** Messages: whether tokens are counted with `anthropic-beta`. */
  countBetas: z.boolean().default(true),
  /**
   * Messages: `plain` if `metadata.user_id` may only have letters, digits, spaces and `_ . @ -`. Other ids are replaced by their
   * SHA-256.
   */
  userIds: z.enum(['any', 'plain']).default('any'),
  /**
   * Messages: how a platform departs from Anthropic's headers: the body's `anthropic_version`, which replaces the header, and
   * where betas and `stream` go. The model goes where the path has it. Null: as at Anthropic.
   */
  envelope: z
    .strictObject({
      version: z.string().min(1),
      betas: z.enum(['header', 'body']).default('header'),
      stream: z.enum(['body', 'path']).default('body'),
    })
    .nullable()
    .default(null),

  // Roles and messages
  /** Chat: role of instructions. `developer` exists on OpenAI's reasoning models only. */
  instructionRole: z.enum(['system', 'developer']).default('system'),
  /** `anywhere`: system messages may be in the middle; `first`: they may not, and are wrapped as user text there. Messages servers default to `first`. */
  systemMessages: z.enum(['anywhere', 'first']).optional(),
  /** Converse: whether instructions are taken apart from the conversation. Elsewhere they begin the first user message. */
  systemPrompt: z.boolean().default(true),
  /** Chat: whether neighbouring messages of one role must be merged. */
  mergeMessages: z.boolean().default(false),

  /** Messages: whether the channel keeps message threads itself. Others get the whole conversation instead of a thread's turn. */
  messageThreads: z.boolean().default(false),

  /**
   * Responses: whether `background: true` is done by the server itself. Elsewhere, and where it stores no responses, the
   * gateway's text worker does it.
   */
  backgroundResponses: z.boolean().default(false),

  /**
   * Responses: whether responses are stored and can be continued by their ids. Elsewhere the gateway sends the whole
   * conversation. A server that ignores `previous_response_id` would answer without it.
   */
  storedResponses: z.boolean().default(false),

  /**
   * Responses: whether requests say `store: false`, and those with `reasoning` ask for its encrypted content: the server would
   * keep what the gateway stores itself, or loses what it keeps.
   */
  unstoredResponses: z.boolean().default(false),

  /**
   * Responses and Messages: whether the server compacts conversations itself, and reads its own compactions. Elsewhere the
   * gateway has the model write a summary, and seals it.
   */
  compaction: z.boolean().default(false),

  // Tools
  /** Whether `strict` on a function is understood. */
  strictTools: z.boolean().default(true),
  /** Whether a choice that names one tool is obeyed. Elsewhere only that tool is offered, and a call is required. */
  namedToolChoice: z.boolean().default(true),
  /**
   * Whether a choice that demands a call is taken. Elsewhere an instruction asks for the call, of the named tool alone where one is
   * named; that is no guarantee, and reported.
   */
  demandedCalls: z.boolean().default(true),
  /** Chat: whether `type: custom` tools exist. Elsewhere they are shown to the model as functions with one text input. */
  customTools: z.boolean().default(false),
  /** Longest tool name taken. Default: 64 on chat, 128 elsewhere. */
  toolNameLength: z.int().min(16).max(128).optional(),
  /** `nine-alphanumeric` if a call id must be exactly nine letters or digits (Mistral); `none` if Gemini's calls have none. */
  toolCallIds: z.enum(['any', 'nine-alphanumeric', 'none']).default('any'),
  /** Gemini: whether a tool's result may have images and files (from version 3 on). Elsewhere the user shows them after it. */
  toolResultMedia: z.boolean().default(true),
  /**
   * Gemini: whether schemas of tools and of output go as JSON Schema. Elsewhere in the older subset of OpenAPI, without the
   * keywords that it lacks.
   */
  jsonSchema: z.boolean().default(true),
  /** This server's tool type for web search; null if it has none. Default: the protocol's own on Responses and Messages, none on chat. */
  webSearch: z.string().nullable().optional(),

  /** Converse: whether a request with tools, or a history with calls, may stream. Elsewhere it is answered whole, and played as events. */
  streamedTools: z.boolean().default(true),

  // Prompt caching
  /** Converse: where cache points are taken. A mark of the caller's in another place is left out and reported. */
  cachePoints: z.array(z.enum(['system', 'tools', 'messages'])).default(['system', 'tools', 'messages']),

  // Output form
  /** The JSON output that the server supports: a schema, any object, or none (then one forced tool replaces it). */
  structuredOutput: z.enum(['schema', 'object', 'none']).default('schema'),

  // Reasoning
  /** Efforts that the model takes. An unknown one becomes the next weaker; an empty list means that the model has no effort setting. */
  efforts: z.array(z.enum(EFFORTS)).default([...EFFORTS]),
  /**
   * Converse: the member of `additionalModelRequestFields` by which its model's maker has reasoning requested: `thinking` (Claude),
   * `reasoningConfig` (Nova 2), `reasoning_effort` (gpt-oss), `reasoning` (GPT); `none` if there is none.
   */
  reasoningRequest: z
    .enum(['thinking', 'reasoningConfig', 'reasoning_effort', 'reasoning', 'none'])
    .default('none'),
  /**
   * Messages: how thinking is switched on. Claude up to 4.5 takes `manual` only, from 4.7 on `adaptive` only. Gemini: `adaptive` is a
   * level and signatures that are demanded back (from version 3 on), `manual` a budget of tokens (2.5).
   */
  thinking: z.enum(['adaptive', 'manual', 'none']).default('adaptive'),
  /** Messages: whether `thinking: {type: "disabled"}` is taken. Gemini: whether a budget of 0 is. */
  thinkingCanBeDisabled: z.boolean().default(true),
  /** Responses: whether a reasoning summary may be requested. OpenAI refuses it to unverified organisations. */
  reasoningSummary: z.boolean().default(true),
  /** Responses: whether `include: ["reasoning.encrypted_content"]` is understood. */
  encryptedReasoning: z.boolean().default(true),
  /**
   * Whose models answer, so that sealed reasoning goes back to its maker alone. Default: Anthropic's under Messages, OpenAI's
   * under Responses, Google's under Gemini. Under Chat Completions nothing is sealed.
   */
  reasoningVendor: z.enum(REASONING_VENDORS).optional(),
  /** Gemini: whether a count takes the request in `generateContentRequest`, as the Gemini API does and Vertex AI does not. */
  wrappedCounts: z.boolean().default(true),
  /** Chat: members that may have reasoning text; the first present one counts. */
  reasoningMembers: z.array(z.string()).default(['reasoning_content', 'reasoning']),
  /** Chat: whether earlier reasoning is sent back to the server, in the first of `reasoningMembers`. `required`: a space if it is unknown. */
  reasoningBack: z.enum(['never', 'known', 'required']).default('never'),
  /**
   * Chat: whether reasoning is inside `<think>…</think>` at the head of the text. `opened`: the prompt's template opens it, so
   * that the answer begins with a thought; `written`: the model writes both tags; true: either.
   */
  thinkTags: z.union([z.boolean(), z.enum(['opened', 'written'])]).default(false),

  // Embeddings
  /** Embeddings: in whose form they are requested. */
  embeddingsForm: z
    .enum([
      'openai',
      'cohere',
      'gemini',
      'bedrock-titan',
      'bedrock-nova',
      'bedrock-cohere',
      'vertex-predict',
      'vertex-embed-content',
    ])
    .default('openai'),
  /** Embeddings: whether `encoding_format: base64` is understood. Elsewhere numbers are requested, and encoded here. */
  base64Embeddings: z.boolean().default(false),
  /** Embeddings: whether input may be tokens of OpenAI's vocabulary. Elsewhere they are decoded, and sent as text. */
  tokenInputs: z.boolean().default(false),
  /** Embeddings: how many inputs one request may have. More are sent in several requests. */
  maxInputs: z.int().min(1).default(2048),

  // Rerank
  /** Rerank: in whose form it is requested. Jina's is the one that most servers have. */
  rerankForm: z.enum(['jina', 'cohere', 'bedrock-cohere', 'voyage', 'tei']).default('jina'),
});
export type Quirks = z.infer<typeof Quirks>;
export type QuirksInput = z.input<typeof Quirks>;

/** Checks a setting and leaves the defaults out, so that it can change single values of another. */
export const QuirkSettings = z.unknown().transform((value, context): QuirksInput => {
  const result = Quirks.safeParse(value);
  if (!result.success) {
    // Without their texts: the check of the whole request has its own messages.
    for (const { message: _, ...issue } of result.error.issues) context.addIssue({ ...issue, inst: Quirks });
    return z.NEVER;
  }
  const set: QuirksInput = { ...result.data };
  const names = new Set(Object.keys(Object(value)));
  for (const name of Object.keys(set)) if (!names.has(name)) Reflect.deleteProperty(set, name);
  return set;
});
