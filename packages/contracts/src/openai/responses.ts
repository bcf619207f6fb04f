import { z } from 'zod';
import { lookUp } from '../look-up.ts';
import { checkResponsesToolChoice } from '../tools/named-tools.ts';
import { characters, decimal, INTEGER, nested, problem } from '../wire-types.ts';

/** Depth of reasoning, the protocol's whole list. The provider decides which of them a model takes. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const MESSAGE_ROLES = ['user', 'assistant', 'system', 'developer'] as const;

/** A message in `input`, in its short or its output form. */
export const MessageItem = z.looseObject({
  role: z.enum(MESSAGE_ROLES),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
});

const FunctionTool = z.looseObject({ name: z.string().min(1) });
const FileSearchTool = z.looseObject({ vector_store_ids: z.array(z.string()).min(1) });

/** The required members of a tool, by its type; the provider checks tools of other types. */
const TOOL_RULES: Readonly<Record<string, z.ZodType>> = {
  function: FunctionTool,
  custom: FunctionTool,
  file_search: FileSearchTool,
};

/** A `tool_choice` of these types names one tool. */
const NAMED_CHOICES = new Set(['function', 'custom']);

/** Members that replace `input` as a response's context. */
const CONTEXT_MEMBERS = ['previous_response_id', 'conversation', 'prompt'] as const;

/** The longest sealed compaction that the protocol takes. */
const MAX_ENCRYPTED_CHARACTERS = 20_971_520;
/** The lowest threshold that the protocol takes, in tokens. */
const MIN_COMPACT_THRESHOLD = 1000;

/** An item that replaces a conversation so far; `compaction_summary` is its older name. */
const CompactionItem = z.looseObject({
  type: z.enum(['compaction', 'compaction_summary']),
  encrypted_content: z.string().max(MAX_ENCRYPTED_CHARACTERS),
});
export const isCompactionItem = ({ type }: { readonly type?: unknown }): boolean =>
  type === 'compaction' || type === 'compaction_summary';

/** The last item of an input whose conversation is to be compacted, whatever its length. */
export const COMPACTION_TRIGGER = 'compaction_trigger';

const ContextManagement = z.looseObject({
  type: z.string(),
  compact_threshold: z.int({ error: INTEGER }).min(MIN_COMPACT_THRESHOLD).nullish(),
});

const Input = z.union([z.string(), z.array(z.looseObject({ type: z.string().nullish() }))]).nullish();

/** The values of OpenAI's own service, for the members of which servers of other makers know more. */
const OWN_VALUES = {
  max_output_tokens: z.int({ error: INTEGER }).min(1).nullish(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]).nullish(),
  reasoning: z.looseObject({ effort: z.enum(REASONING_EFFORTS).nullish() }).nullish(),
};

/** Those of any server. */
const ANY_VALUES = {
  max_output_tokens: z.int({ error: INTEGER }).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).nullish(),
};

const Request = z.looseObject({
  model: z.string().min(1),
  input: Input,
  instructions: z.string().nullish(),
  temperature: decimal(0, 2).nullish(),
  top_p: decimal(0, 1).nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  context_management: z.array(ContextManagement).min(1).nullish(),
});
const AnyRequest = Request.extend(ANY_VALUES);

function checkRequest(request: z.infer<typeof AnyRequest>, context: z.RefinementCtx): void {
  const { input, tools, tool_choice: choice } = request;
  if (isEmpty(input) && !CONTEXT_MEMBERS.some((name) => isGiven(request[name])))
    context.addIssue(missingInput());
  if (isGiven(request.conversation) && isGiven(request.previous_response_id)) {
    const text = "'previous_response_id' and 'conversation' exclude each other: send one of them.";
    context.addIssue(problem([], { code: 'mutually_exclusive_parameters', openai: text, anthropic: text }));
  }
  checkItems(input, context);
  for (const [index, tool] of (tools ?? []).entries()) {
    const rule = lookUp(TOOL_RULES, tool.type);
    if (rule !== undefined) nested(rule, ['tools', index], tool, context);
  }
  if (typeof choice === 'object' && choice !== null && NAMED_CHOICES.has(choice.type))
    nested(FunctionTool, ['tool_choice'], choice, context);
  checkResponsesToolChoice(request, context);
}

/** A request of `POST /v1/responses`. `null` means absent. Members that are not named here pass unchanged. */
export const ResponsesRequest = Request.extend(OWN_VALUES).superRefine(checkRequest);
export type ResponsesRequest = z.infer<typeof ResponsesRequest>;

/** The same for a server that may know further values. */
export const CompatibleResponsesRequest = AnyRequest.superRefine(checkRequest);

const isGiven = (value: unknown): boolean => (value ?? null) !== null;

const isEmpty = (input: z.infer<typeof Input>): boolean => !isGiven(input) || input?.length === 0;

const missingInput = () =>
  problem(['input'], {
    code: 'missing_required_parameter',
    openai: "Missing required parameter: 'input'.",
    anthropic: 'Field required',
  });

function checkItems(input: z.infer<typeof Input>, context: z.RefinementCtx): void {
  if (!Array.isArray(input)) return;
  for (const [index, item] of input.entries()) {
    if (isMessage(item)) nested(MessageItem, ['input', index], item, context);
    else if (isCompactionItem(item)) nested(CompactionItem, ['input', index], item, context);
    else if (item.type === COMPACTION_TRIGGER && index < input.length - 1) {
      const text = "An item of type 'compaction_trigger' must be the last item of the input.";
      context.addIssue(problem(['input', index], { code: 'invalid_value', openai: text, anthropic: text }));
    }
  }
}

/** Members of a response's request that compacting a conversation does not take. */
const NOT_OF_COMPACTING = ['conversation', 'stream', 'background'] as const;

/** A request of `POST /v1/responses/compact`. Members that are not named here pass unchanged. */
export const CompactRequest = z
  .looseObject({
    model: z.string().min(1),
    input: Input,
    instructions: z.string().nullish(),
    previous_response_id: z.string().nullish(),
    prompt_cache_key: characters(0, 64).nullish(),
  })
  .superRefine((request, context) => {
    const { input, previous_response_id: previous } = request;
    if (isEmpty(input) && !isGiven(previous)) context.addIssue(missingInput());
    checkItems(input, context);
    for (const name of NOT_OF_COMPACTING) {
      if (!isGiven(request[name]) || request[name] === false) continue;
      const text = `Unknown parameter: '${name}'.`;
      context.addIssue(problem([name], { code: 'unknown_parameter', openai: text, anthropic: text }));
    }
  });
export type CompactRequest = z.infer<typeof CompactRequest>;

/** `type` may be left out of a message; an object with nothing but an `id` is a reference to an item. */
export const isMessage = (item: Readonly<Record<string, unknown>>): boolean =>
  item.type === 'message' || ((item.type ?? null) === null && ('role' in item || 'content' in item));
