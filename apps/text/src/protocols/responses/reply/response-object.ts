import type { AnswerContext } from '../../../neutral/target.ts';
import type { JsonObject } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import type { Usage } from '../../../wire/usage.ts';
import { encodeUsage } from './usage.ts';

/** The members of a response about its request where the caller sent none. */
const DEFAULTS: JsonObject = {
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  previous_response_id: null,
  presence_penalty: 0,
  frequency_penalty: 0,
  prompt_cache_key: null,
  safety_identifier: null,
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
  metadata: {},
};

/** Tools are shown with every member that the published schemas require. */
const echoTool = (tool: unknown): unknown =>
  isJsonObject(tool) && tool.type === 'function'
    ? { description: null, parameters: null, strict: null, ...tool }
    : tool;

const record = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** The members of a caller's Responses request that its response repeats. */
export function echoOf(request: unknown): JsonObject {
  const given = record(request);
  const echo: { [member: string]: unknown } = { ...DEFAULTS };
  for (const member of Object.keys(DEFAULTS)) echo[member] = given[member] ?? DEFAULTS[member];
  const tools = Array.isArray(given.tools) ? given.tools : [];
  return {
    ...echo,
    reasoning: { effort: null, summary: null, ...record(given.reasoning) },
    text: { format: { type: 'text' }, verbosity: 'medium', ...withoutNulls(record(given.text)) },
    tools: tools.map(echoTool),
  };
}

/** A response would repeat more than this of one member up to four times. No tools or instructions of an agent come near it. */
const MAX_ECHO_CHARACTERS = 256 * 1024;

/** The same members; those that are too long to be repeated are shown as if the caller had not sent them. */
export function shortEcho(echo: JsonObject): JsonObject {
  const empty = echoOf({});
  const isShort = (value: unknown) => JSON.stringify(value).length <= MAX_ECHO_CHARACTERS;
  return Object.fromEntries(
    Object.entries(echo).map(([name, value]) => [name, isShort(value) ? value : empty[name]]),
  );
}

const withoutNulls = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

export interface ResponseState {
  readonly id: string;
  readonly createdAt: number;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly completedAt: number | null;
  readonly error: object | null;
  readonly incompleteDetails: object | null;
  readonly output: readonly object[];
  readonly usage: Usage | null;
  readonly serviceTier: string | undefined;
}

/** The whole response object, every member present: some client demands each. */
export const responseObject = (
  state: ResponseState,
  { plan }: { readonly plan: Pick<AnswerContext['plan'], 'model' | 'echo'> },
): JsonObject => ({
  id: state.id,
  object: 'response',
  created_at: state.createdAt,
  completed_at: state.completedAt,
  status: state.status,
  error: state.error,
  incomplete_details: state.incompleteDetails,
  model: plan.model,
  output: state.output,
  ...plan.echo,
  service_tier: state.serviceTier ?? 'default',
  usage: state.usage === null ? null : encodeUsage(state.usage),
});

interface QueuedResponse {
  readonly id: string;
  readonly createdAt: number;
  readonly model: string;
  /** The members of its request that it repeats. */
  readonly echo: JsonObject;
}

/** A background response that nobody has begun. */
export const queuedResponse = ({ id, createdAt, model, echo }: QueuedResponse): JsonObject =>
  responseObject(
    {
      id,
      createdAt,
      status: 'queued',
      completedAt: null,
      error: null,
      incompleteDetails: null,
      output: [],
      usage: null,
      serviceTier: undefined,
    },
    { plan: { model, echo } },
  );
