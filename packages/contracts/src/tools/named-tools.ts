import type { z } from 'zod';
import { isObject } from '../json/json-object.ts';
import { problem } from '../wire-types.ts';

/**
 * A `tool_choice` that names a tool must find it in the request. Otherwise providers answer 400, each in its own words,
 * and some servers ignore such a choice: so the gateway checks it before it sends the request.
 */

type Members = Readonly<Record<string, unknown>>;

/** The name of a tool in a definition or a choice. */
interface Named {
  readonly name: string;
  readonly namespace: string | null;
}

const objectsIn = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const named = ({ name, namespace }: Members): Named[] =>
  typeof name === 'string' ? [{ name, namespace: typeof namespace === 'string' ? namespace : null }] : [];

const isCallersOwn = ({ type }: Members): boolean => type === 'function' || type === 'custom';

/** An error quotes at most this much of a name. */
const MAX_SHOWN = 64;

function report(wanted: readonly Named[], offered: readonly Named[], context: z.RefinementCtx): void {
  const isOffered = ({ name, namespace }: Named) =>
    offered.some((tool) => tool.name === name && (namespace === null || tool.namespace === namespace));
  const missing = wanted.find((tool) => !isOffered(tool));
  if (missing === undefined) return;
  const name = missing.name.slice(0, MAX_SHOWN);
  context.addIssue(
    problem(['tool_choice'], {
      code: 'invalid_value',
      openai: `Tool choice '${name}' not found in 'tools' parameter.`,
      anthropic: `Tool '${name}' not found in provided tools`,
    }),
  );
}

/** Members of a Responses request that may add tools that are not in the request. */
const RESPONSES_CONTEXT = ['prompt', 'previous_response_id', 'conversation'] as const;

/** Tools are also in namespaces, and in items such as `additional_tools`. */
export function checkResponsesToolChoice(request: Members, context: z.RefinementCtx): void {
  const { tool_choice: choice, tools, input } = request;
  if (!isObject(choice) || RESPONSES_CONTEXT.some((name) => isGiven(request[name]))) return;
  const wanted = choice.type === 'allowed_tools' ? objectsIn(choice.tools) : [choice];
  const brought = [...objectsIn(tools), ...objectsIn(input).flatMap((item) => objectsIn(item.tools))];
  const offered = brought.flatMap((tool) => [
    ...named(tool),
    ...objectsIn(tool.tools).flatMap((inner) => named({ ...inner, namespace: tool.name })),
  ]);
  report(wanted.filter(isCallersOwn).flatMap(named), offered, context);
}

/** In chat the name is one level deeper, in the member that the type names. */
const chatMember = (tool: Members): readonly Members[] => {
  const inner = isCallersOwn(tool) ? tool[String(tool.type)] : null;
  return isObject(inner) ? [inner] : [];
};

export function checkChatToolChoice({ tool_choice: choice, tools }: Members, context: z.RefinementCtx): void {
  if (!isObject(choice)) return;
  const list = isObject(choice.allowed_tools) ? objectsIn(choice.allowed_tools.tools) : [choice];
  report(
    list.flatMap(chatMember).flatMap(named),
    objectsIn(tools).flatMap(chatMember).flatMap(named),
    context,
  );
}

/** A thread stores its tools, MCP servers and toolsets add tools of other names, and a system message may add some. */
function mayBringMore({ thread, mcp_servers: servers, messages, tools }: Members): boolean {
  const isContinued = isObject(thread) && thread.type === 'continue';
  const isAdded = objectsIn(messages).some(
    ({ content, role }) =>
      role === 'system' && objectsIn(content).some(({ type }) => type === 'tool_addition'),
  );
  return (
    isContinued ||
    isAdded ||
    objectsIn(servers).length > 0 ||
    objectsIn(tools).some((tool) => !isGiven(tool.name))
  );
}

export function checkMessagesToolChoice(request: Members, context: z.RefinementCtx): void {
  const { tool_choice: choice, tools } = request;
  if (!isObject(choice) || choice.type !== 'tool' || mayBringMore(request)) return;
  report(named({ name: choice.name }), objectsIn(tools).flatMap(named), context);
}
