import { lookUp } from '@gateway/contracts/look-up';
import { COMPACTION_TRIGGER } from '@gateway/contracts/openai/responses';
import { isObject, type JsonObject, parseObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import { isReference } from './response-record.ts';
import type { StoredItem } from './store/conversation-store.ts';
import { parseItem } from './store/item-json.ts';

/** How the published description shows an object of a list, whose members may have been left out, or be null, when it was sent. */
interface Shape {
  /** Members that it always has, with their values where none were sent. */
  readonly defaults?: JsonObject;
  /** The same for members whose value is that of another one. */
  readonly copies?: Readonly<Record<string, string>>;
  /** Values that requests know and lists do not, with those that are shown instead, by their member. */
  readonly instead?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Members that are texts, or lists: other JSON is shown as its text. */
  readonly texts?: readonly string[];
  /** Members that are objects, or lists of objects. */
  readonly members?: Readonly<Record<string, Shape | Shapes>>;
  /** Another object that is shown instead; null: lists have no place for it. */
  readonly as?: (given: JsonObject) => JsonObject | null;
}

/** By the objects' `type`. */
interface Shapes {
  readonly byType: Readonly<Record<string, Shape>>;
}

const DONE = { status: 'completed' };
const TEXT: Shape = {};
const ANSWER_TEXT: Shape = { defaults: { annotations: [], logprobs: [] } };

/** Lists know no sound but as a file. */
const SOUND: Shape = {
  as: ({ input_audio: sound }) => {
    if (!isJsonObject(sound) || typeof sound.data !== 'string') return null;
    const format = typeof sound.format === 'string' ? sound.format : 'wav';
    const data = `data:audio/${format === 'mp3' ? 'mpeg' : format};base64,${sound.data}`;
    return { type: 'input_file', filename: `audio.${format}`, file_data: data };
  },
};
const AS_INPUT: Shape = { instead: { type: { output_text: 'input_text', text: 'input_text' } } };
const INPUT_PARTS = {
  input_text: TEXT,
  output_text: AS_INPUT,
  text: AS_INPUT,
  input_image: { defaults: { detail: 'auto' } },
  input_file: {},
  input_audio: SOUND,
};
const OUTPUT: Shape = {
  defaults: { output: '', ...DONE },
  texts: ['output'],
  members: { output: { byType: INPUT_PARTS } },
};
const CALL: Shape = { defaults: { arguments: '{}', ...DONE }, texts: ['arguments'] };
const MCP_CALL: Shape = { defaults: { arguments: '{}' }, texts: ['arguments', 'output'] };
const TOOLS: Shapes = { byType: { function: { defaults: { parameters: null, strict: null } } } };
const SEARCHED_TOOLS = { call_id: null, execution: 'server', ...DONE };
const COMPACTION: Shape = { instead: { type: { compaction_summary: 'compaction' } } };

/** A message is shown with the text parts of its role, whichever it was sent with. */
const PROMPT: Shape = {
  defaults: DONE,
  members: {
    content: { byType: INPUT_PARTS },
  },
};
const AS_ANSWER: Shape = {
  ...ANSWER_TEXT,
  instead: { type: { input_text: 'output_text', text: 'output_text' } },
};
const NOWHERE: Shape = { as: () => null };
const ANSWER: Shape = {
  defaults: DONE,
  members: {
    content: {
      byType: {
        refusal: {},
        output_text: ANSWER_TEXT,
        input_text: AS_ANSWER,
        text: AS_ANSWER,
        // A request may have them in a message of the assistant's.
        input_image: NOWHERE,
        input_file: NOWHERE,
        input_audio: NOWHERE,
      },
    },
  },
};

/** All items but messages, by their type; an item of another type is shown as it was sent. */
const ITEMS: Readonly<Record<string, Shape>> = {
  reasoning: { defaults: { summary: [] } },
  function_call: CALL,
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
  computer_call_output: {
    defaults: DONE,
    instead: { status: { in_progress: 'incomplete' } },
    members: { output: { instead: { type: { input_image: 'computer_screenshot' } } } },
  },
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
  mcp_call: MCP_CALL,
  mcp_approval_request: MCP_CALL,
  mcp_approval_response: { copies: { request_id: 'approval_request_id' } },
};

/** An item as lists show it: valid by the published description, whatever was left out when it was sent. */
export function shownItem({ id, json }: Pick<StoredItem, 'id' | 'json'>): JsonObject {
  const parsed = parseItem(json);
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

/** Longer items are none of those that no list has. */
const MAX_UNLISTED = 1000;

/**
 * The items that a list has. The trigger of a compaction is no item of a conversation, and a reference stands for an item that
 * only its provider has.
 */
export const listedItems = (items: readonly StoredItem[]): readonly StoredItem[] =>
  items.filter(({ json }) => {
    if (json.length > MAX_UNLISTED) return true;
    const item = parseObject(String(json));
    return item === null || !(isReference(item) || item.type === COMPACTION_TRIGGER);
  });

/** A member that is null counts as absent, as everywhere in requests. */
function shaped(given: JsonObject, shape: Shape): JsonObject {
  const { defaults, copies = {}, instead = {}, texts = [], members = {} } = shape;
  const copied = Object.entries(copies).map(([name, source]) => [name, given[source]]);
  const sent = Object.entries(given)
    .filter(([, value]) => (value ?? null) !== null)
    .map(([name, value]) => {
      const shape = lookUp(members, name);
      if (typeof value === 'string') return [name, lookUp(lookUp(instead, name) ?? {}, value) ?? value];
      if (texts.includes(name) && !Array.isArray(value)) return [name, JSON.stringify(value)];
      return [name, shape ? shapedMember(value, shape) : value];
    });
  return { ...defaults, ...Object.fromEntries([...copied, ...sent]) };
}

function shapedMember(value: unknown, shape: Shape | Shapes): unknown {
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => shapedMember(entry, shape) ?? []);
  if (!isJsonObject(value)) return value;
  const own = 'byType' in shape ? lookUp(shape.byType, String(value.type)) : shape;
  if (own?.as !== undefined) return own.as(value);
  return own ? shaped(value, own) : value;
}
