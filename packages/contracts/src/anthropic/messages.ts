import { z } from 'zod';
import { checkMessagesToolChoice } from '../tools/named-tools.ts';
import { decimal, INTEGER, nested, type Problem, problem } from '../wire-types.ts';

/** Least thinking budget, in tokens. */
const MIN_BUDGET_TOKENS = 1024;

const Block = z.looseObject({ type: z.string() });
const Content = z.union([z.string(), z.array(Block)]);

const ToolChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('auto') }),
  z.looseObject({ type: z.literal('any') }),
  z.looseObject({ type: z.literal('tool'), name: z.string() }),
  z.looseObject({ type: z.literal('none') }),
]);

/** The server stores the conversation, or continues a stored one. */
const Thread = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('create') }),
  z.looseObject({ type: z.literal('continue'), previous_message_id: z.string().min(1) }),
]);

/** The schema for output: under the current name, and under the older one. */
const OutputConfig = z.looseObject({ format: z.unknown().optional() });

/** Replaces the conversation by a summary, and answers with that. */
const Compaction = z.looseObject({ type: z.literal('summarize'), instructions: z.string().nullish() });

/** The entry of `context_management.edits` by which a long conversation is compacted before it is answered. */
export const CompactEdit = z.looseObject({
  type: z.literal('compact_20260112'),
  trigger: z
    .looseObject({ type: z.literal('input_tokens'), value: z.int({ error: INTEGER }).min(1) })
    .nullish(),
  instructions: z.string().nullish(),
  pause_after_compaction: z.boolean().nullish(),
});

const ContextManagement = z.looseObject({
  edits: z.array(z.looseObject({ type: z.string() })).nullish(),
});

const Thinking = z.looseObject({ type: z.enum(['enabled', 'disabled', 'adaptive', 'between_tools']) });

/** Of any server: what it is given for a budget is a number. */
const AnyThinking = Thinking.extend({ budget_tokens: z.int({ error: INTEGER }).nullish() });

/** The common members of generating a message and counting its tokens. */
const conversation = {
  model: z.string().min(1),
  messages: z.array(
    // A system message may have settings instead of content.
    z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content: Content.optional() }),
  ),
  system: Content.optional(),
  tools: z.array(z.looseObject({ type: z.string().nullish() })).optional(),
  tool_choice: ToolChoice.optional(),
  thinking: Thinking.optional(),
  thread: Thread.nullish(),
  output_config: OutputConfig.nullish(),
};

interface Conversation {
  readonly messages: readonly {
    readonly role: string;
    readonly content?: z.infer<typeof Content> | undefined;
  }[];
  readonly thread?: { readonly type: string } | null | undefined;
  readonly output_config?: { readonly format?: unknown } | null | undefined;
  readonly output_format?: unknown;
  readonly thinking?: { readonly type: string; readonly budget_tokens?: unknown } | undefined;
}

const invalidValue = (path: readonly (string | number)[], text: string) =>
  problem(path, { code: 'invalid_value', openai: text, anthropic: text });

const missingContent = (index: number) =>
  problem(['messages', index, 'content'], {
    code: 'missing_required_parameter',
    openai: `Missing required parameter: 'messages[${index}].content'.`,
    anthropic: 'Field required',
  });

function checkConversation(request: Conversation, context: z.RefinementCtx): void {
  const { messages, thread } = request;
  for (const [index, { role, content }] of messages.entries()) {
    if (content === undefined && role !== 'system') context.addIssue(missingContent(index));
  }
  if (thread?.type !== 'continue') checkBeginning(messages, context);
  if ((request.output_format ?? null) !== null && (request.output_config?.format ?? null) !== null)
    context.addIssue(
      problem([], {
        code: 'mutually_exclusive_parameters',
        openai: "'output_format' and 'output_config.format' exclude each other.",
        anthropic: '`output_format` is the old name of `output_config.format`: send one of them.',
      }),
    );
}

/** The rules of Anthropic's own service. Servers of other makers need no budget, or ignore it. */
function checkOwnThinking({ thinking }: Conversation, context: z.RefinementCtx): void {
  if (thinking?.type === 'enabled') checkBudget(thinking.budget_tokens, context);
}

/** The turn after a stored conversation may begin with any role, or be empty. */
function checkBeginning(messages: Conversation['messages'], context: z.RefinementCtx): void {
  const first = messages[0];
  if (first === undefined)
    context.addIssue(
      problem(['messages'], {
        code: 'array_below_min_length',
        openai: 'At least one message is required.',
        anthropic: 'at least one message is required',
      }),
    );
  else if (first.role !== 'user' && !opensWithCompaction(first))
    context.addIssue(invalidValue(['messages'], 'first message must use the "user" role'));
}

/** The block replaces everything before it, user messages included. */
const opensWithCompaction = ({ role, content }: Conversation['messages'][number]): boolean =>
  role === 'assistant' && typeof content === 'object' && content[0]?.type === 'compaction';

/** The protocol names the form of thinking within the path. */
function checkBudget(budget: unknown, context: z.RefinementCtx): void {
  const path = ['thinking', 'enabled', 'budget_tokens'];
  const refuse = (code: Problem['code'], text: string) =>
    context.addIssue(problem(path, { code, openai: text, anthropic: text }));
  if (budget === undefined) refuse('missing_required_parameter', 'Field required');
  else if (!Number.isInteger(budget)) refuse('invalid_type', 'Input should be a valid integer');
  else if (Number(budget) < MIN_BUDGET_TOKENS)
    refuse('integer_below_min_value', `Input should be greater than or equal to ${MIN_BUDGET_TOKENS}`);
}

const Request = z.looseObject({
  ...conversation,
  // Zero warms the prompt cache and generates nothing.
  max_tokens: z.int({ error: INTEGER }).min(0),
  temperature: decimal(0, 1).optional(),
  top_p: decimal(0, 1).optional(),
  stream: z.boolean().optional(),
  compaction: Compaction.nullish(),
  context_management: ContextManagement.nullish(),
});

function checkRequest(request: z.infer<typeof Request>, context: z.RefinementCtx): void {
  checkConversation(request, context);
  checkCompaction(request, context);
  checkMessagesToolChoice(request, context);
}

/** A request of `POST /v1/messages`. Members that are not named here pass unchanged. */
export const MessagesRequest = Request.superRefine((request, context) => {
  checkRequest(request, context);
  checkOwnThinking(request, context);
  const { thinking, max_tokens: maxTokens } = request;
  if (thinking?.type !== 'enabled') return;
  const budget = thinking.budget_tokens;
  if (typeof budget === 'number' && budget >= maxTokens)
    context.addIssue(invalidValue([], '`max_tokens` must be greater than `thinking.budget_tokens`.'));
});
export type MessagesRequest = z.infer<typeof MessagesRequest>;

/**
 * The same for a server that may know further values: Kimi's takes `thinking` without a budget, DeepSeek's ignores the budget and
 * takes temperatures up to 2.
 */
export const CompatibleMessagesRequest = Request.extend({
  thinking: AnyThinking.optional(),
  temperature: decimal(0, 2).optional(),
}).superRefine(checkRequest);

function checkCompaction(
  request: {
    readonly compaction?: unknown;
    readonly context_management?: z.infer<typeof ContextManagement> | null | undefined;
  },
  context: z.RefinementCtx,
): void {
  const { compaction, context_management: management } = request;
  for (const [index, edit] of (management?.edits ?? []).entries())
    if (edit.type === CompactEdit.shape.type.value)
      nested(CompactEdit, ['context_management', 'edits', index], edit, context);
  if ((compaction ?? null) === null || (management ?? null) === null) return;
  context.addIssue(
    problem([], {
      code: 'mutually_exclusive_parameters',
      openai: "'compaction' and 'context_management' exclude each other.",
      anthropic: '`compaction` and `context_management` exclude each other: send one of them.',
    }),
  );
}

const Counted = z.looseObject(conversation);

function checkCounted(request: z.infer<typeof Counted>, context: z.RefinementCtx): void {
  checkConversation(request, context);
  checkMessagesToolChoice(request, context);
}

/** A request of `POST /v1/messages/count_tokens`. */
export const CountTokensRequest = Counted.superRefine((request, context) => {
  checkCounted(request, context);
  checkOwnThinking(request, context);
});
export type CountTokensRequest = z.infer<typeof CountTokensRequest>;

/** The same for a server that may know further values. */
export const CompatibleCountTokensRequest = Counted.extend({ thinking: AnyThinking.optional() }).superRefine(
  checkCounted,
);
