import { lookUp } from '@gateway/contracts/look-up';
import { isObject, type JsonObject } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { StoredItem } from './conversations/conversation-store.ts';

/** How the published description shows an object of a list, whose members may have been left out, or be null, when it was sent. */
interface Shape {
  /** Members that it always has, with their values where none were sent. */
  readonly defaults?: JsonObject;
  /** The same for members whose value is that of another one. */
  readonly copies?: Readonly<Record<string, string>>;
  /** Values that requests know and lists do not, with those that are shown instead, by their member. */
  readonly instead?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Members that are objects, or lists of objects. */
  readonly members?: Readonly<Record<string, Shape | Shapes>>;
}

/** By the objects' `type`. */
interface Shapes {
  readonly byType: Readonly<Record<string, Shape>>;
}

const DONE = { status: 'completed' };
const TEXT: Shape = {};
const ANSWER_TEXT: Shape = { defaults: { annotations: [], logprobs: [] } };

const INPUT_PARTS = {
  input_text: TEXT,
  input_image: { defaults: { detail: 'auto' } },
  input_file: {},
};
const OUTPUT: Shape = { defaults: DONE, members: { output: { byType: INPUT_PARTS } } };
const TOOLS: Shapes = { byType: { function: { defaults: { parameters: null, strict: null } } } };
const SEARCHED_TOOLS = { call_id: null, execution: 'server', ...DONE };
const COMPACTION: Shape = { instead: { type: { compaction_summary: 'compaction' } } };

/** A message is shown with the text parts of its role, whichever it was sent with. */
const PROMPT: Shape = {
  defaults: DONE,
  members: {
    content: {
      byType: { ...INPUT_PARTS, output_text: { instead: { type: { output_text: 'input_text' } } } },
    },
  },
};
const ANSWER: Shape = {
  defaults: DONE,
  members: {
    content: {
      byType: {
        refusal: {},
        output_text: ANSWER_TEXT,
        input_text: { ...ANSWER_TEXT, instead: { type: { input_text: 'output_text' } } },
      },
    },
  },
};

/** All items but messages, by their type; an item of another type is shown as it was sent. */
const ITEMS: Readonly<Record<string, Shape>> = {
  reasoning: { defaults: { summary: [] } },
  function_call: { defaults: DONE },
  function_call_output: OUTPUT,
  custom_tool_call: { defaults: DONE },
  custom_tool_call_output: OUTPUT,
  tool_search_call: { defaults: { arguments: {}, ...SEARCHED_TOOLS } },
  tool_search_output: { defaults: { tools: [], ...SEARCHED_TOOLS }, members: { tools: TOOLS } },
  additional_tools: { defaults: { role: 'developer', tools: [] }, members: { tools: TOOLS } },
  compaction: COMPACTION,
  compaction_summary: COMPACTION,
  file_search_call: { defaults: { queries: [], ...DONE } },
  web_search_call: { defaults: { action: { type: 'search' }, ...DONE } },
  image_generation_call: { defaults: { result: null, ...DONE } },
  code_interpreter_call: { defaults: { code: null, outputs: null, ...DONE } },
  computer_call: { defaults: { pending_safety_checks: [], ...DONE } },
  computer_call_output: { defaults: DONE, instead: { status: { in_progress: 'incomplete' } } },
  local_shell_call: { defaults: DONE, members: { action: { defaults: { env: {} } } } },
  local_shell_call_output: { defaults: DONE },
  shell_call: {
    defaults: { environment: null, ...DONE },
    members: { action: { defaults: { timeout_ms: null, max_output_length: null } } },
  },
  shell_call_output: { defaults: { max_output_length: null, ...DONE } },
  apply_patch_call: { defaults: DONE },
  apply_patch_call_output: { defaults: DONE },
  program: {},
  program_output: { defaults: DONE },
  mcp_list_tools: { defaults: { tools: [] } },
  mcp_call: {},
  mcp_approval_request: {},
  mcp_approval_response: { copies: { request_id: 'approval_request_id' } },
};

/** An item as lists show it: valid by the published description, whatever was left out when it was sent. */
export function shownItem({ id, json }: Pick<StoredItem, 'id' | 'json'>): JsonObject {
  const parsed = parseBody(json);
  const item = isObject(parsed) ? parsed : {};
  const type = item.type ?? 'message';
  if (type !== 'message') {
    const shape = lookUp(ITEMS, String(type));
    return { ...(shape ? shaped(item, shape) : item), id };
  }
  const isAnswer = item.role === 'assistant';
  const content =
    typeof item.content === 'string'
      ? [{ type: isAnswer ? 'output_text' : 'input_text', text: item.content }]
      : item.content;
  return shaped({ ...item, id, type, content }, isAnswer ? ANSWER : PROMPT);
}

/** A member that is null counts as absent, as everywhere in requests. */
function shaped(given: JsonObject, { defaults, copies = {}, instead = {}, members = {} }: Shape): JsonObject {
  const copied = Object.entries(copies).map(([name, source]) => [name, given[source]]);
  const sent = Object.entries(given)
    .filter(([, value]) => (value ?? null) !== null)
    .map(([name, value]) => {
      const shape = lookUp(members, name);
      if (typeof value === 'string') return [name, lookUp(lookUp(instead, name) ?? {}, value) ?? value];
      return [name, shape ? shapedMember(value, shape) : value];
    });
  return { ...defaults, ...Object.fromEntries([...copied, ...sent]) };
}

function shapedMember(value: unknown, shape: Shape | Shapes): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => shapedMember(entry, shape));
  if (!isJsonObject(value)) return value;
  const own = 'byType' in shape ? lookUp(shape.byType, String(value.type)) : shape;
  return own ? shaped(value, own) : value;
}
