import { z } from 'zod';
import { lookUp } from '../look-up.ts';
import { checkChatToolChoice } from '../tools/named-tools.ts';
import { decimal, INTEGER, nested } from '../wire-types.ts';
import { REASONING_EFFORTS } from './responses.ts';

const MESSAGE_ROLES = ['developer', 'system', 'user', 'assistant', 'tool', 'function'] as const;

/** The most token alternatives, answers and stop sequences of one request. */
const [MAX_TOP_LOGPROBS, MAX_ANSWERS, MAX_STOP_SEQUENCES] = [20, 128, 4];

const Content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);
const Named = z.looseObject({ name: z.string().min(1) });

const Message = z.looseObject({
  role: z.enum(MESSAGE_ROLES),
  content: Content.nullish(),
  tool_calls: z.array(z.looseObject({ type: z.string().nullish() })).nullish(),
});

/** The further required members of a message, by its role. An assistant's may consist of calls alone. */
const MESSAGE_RULES: Readonly<Record<string, z.ZodType>> = {
  developer: z.looseObject({ content: Content }),
  system: z.looseObject({ content: Content }),
  user: z.looseObject({ content: Content }),
  tool: z.looseObject({ content: Content, tool_call_id: z.string() }),
};

/** The required members of a tool, by its type; the provider checks tools of other types. */
const TOOL_RULES: Readonly<Record<string, z.ZodType>> = {
  function: z.looseObject({ function: Named }),
  custom: z.looseObject({ custom: Named }),
};

const ResponseFormat = z.looseObject({ type: z.string() });
const JsonSchemaFormat = z.looseObject({ json_schema: Named });

const TokenBound = z.int({ error: INTEGER });

/** The values of OpenAI's own service, for the members of which servers of other makers know more. */
const OWN_VALUES = {
  max_completion_tokens: TokenBound.min(1).nullish(),
  max_tokens: TokenBound.min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(MAX_STOP_SEQUENCES)]).nullish(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]).nullish(),
  reasoning_effort: z.enum(REASONING_EFFORTS).nullish(),
};

/** Those of any server: `max_tokens: -1` is no bound, `tool_choice: any` is `required` in another word. */
const ANY_VALUES = {
  max_completion_tokens: TokenBound.nullish(),
  max_tokens: TokenBound.nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).nullish(),
  reasoning_effort: z.string().nullish(),
};

const Request = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  temperature: decimal(0, 2).nullish(),
  top_p: decimal(0, 1).nullish(),
  presence_penalty: decimal(-2, 2).nullish(),
  frequency_penalty: decimal(-2, 2).nullish(),
  n: z.int({ error: INTEGER }).min(1).max(MAX_ANSWERS).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: ResponseFormat.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int({ error: INTEGER }).min(0).max(MAX_TOP_LOGPROBS).nullish(),
});
const AnyRequest = Request.extend(ANY_VALUES);

function checkRequest(request: z.infer<typeof AnyRequest>, context: z.RefinementCtx): void {
  const { messages, tools, tool_choice: choice, response_format: format } = request;
  for (const [index, message] of messages.entries()) {
    const rule = lookUp(MESSAGE_RULES, message.role);
    if (rule !== undefined) nested(rule, ['messages', index], message, context);
  }
  for (const [index, tool] of (tools ?? []).entries()) {
    const rule = lookUp(TOOL_RULES, tool.type);
    if (rule !== undefined) nested(rule, ['tools', index], tool, context);
  }
  const rule = typeof choice === 'object' && choice !== null ? lookUp(TOOL_RULES, choice.type) : undefined;
  if (rule !== undefined) nested(rule, ['tool_choice'], choice, context);
  if (format?.type === 'json_schema') nested(JsonSchemaFormat, ['response_format'], format, context);
  checkChatToolChoice(request, context);
}

/** A request of `POST /v1/chat/completions`. `null` means absent. Members that are not named here pass unchanged. */
export const ChatCompletionsRequest = Request.extend(OWN_VALUES).superRefine(checkRequest);
export type ChatCompletionsRequest = z.infer<typeof ChatCompletionsRequest>;

/** The same for a server that may know further values. */
export const CompatibleChatRequest = AnyRequest.superRefine(checkRequest);
