import { boundedJson } from '@gateway/contracts/json/json-depth';
import { ResponsesKnownCall } from '@gateway/contracts/openai/responses-known-calls';
import { z } from 'zod';
import type { CallItem, KnownCall } from '../../neutral/tool.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { parseBody } from '../../wire/raw-json.ts';
import { about, INTEGER, type KnownTool, oneOf, parameters, TEXT, TEXTS } from './parameters.ts';

/** A tool of the Responses protocol whose calls have items of their own and are run by the caller's program. */
interface ResponsesCallerTool extends KnownTool {
  /** Of the function that other models get. */
  readonly name: string;
  /** A model's arguments as the members of the item. */
  readonly members: z.ZodType<JsonObject>;
  readonly item: string;
}

const MILLISECONDS = about(INTEGER, 'Stop it after so many milliseconds.');

/** A command in one text is a list of one. */
const commands = z.union([z.array(z.string()).min(1), z.string().transform((command) => [command])]);

const APPLY_PATCH: ResponsesCallerTool = {
  name: 'apply_patch',
  description: [
    'Creates, updates or deletes one file, by a diff in the V4A form.',
    'create_file: every line of the new file with + before it.',
    'update_file: sections that begin with a line @@, followed where it helps by the enclosing class or function; below it the lines with a space before those that stay, - before those that go and + before those that come. A few lines that stay surround each change; there are no line numbers.',
  ].join('\n'),
  parameters: parameters(
    {
      type: oneOf('create_file', 'update_file', 'delete_file'),
      path: TEXT,
      diff: about(TEXT, 'Needed unless the file is deleted.'),
    },
    ['type', 'path'],
  ),
  item: 'apply_patch_call',
  members: ResponsesKnownCall.apply_patch_call.shape.operation.transform((operation) => ({ operation })),
};

const SHELL: ResponsesCallerTool = {
  name: 'shell',
  description: 'Runs commands in a shell and gives the output of each.',
  parameters: parameters(
    {
      commands: about(TEXTS, 'One text per command.'),
      timeout_ms: MILLISECONDS,
      max_output_length: about(INTEGER, 'Cut the output after so many characters.'),
    },
    ['commands'],
  ),
  item: 'shell_call',
  members: z
    .object({ commands, timeout_ms: z.number().nullish(), max_output_length: z.number().nullish() })
    .transform(({ timeout_ms = null, max_output_length = null, ...action }) => ({
      action: { ...action, timeout_ms, max_output_length },
      environment: { type: 'local' },
    })),
};

const LOCAL_SHELL: ResponsesCallerTool = {
  name: 'local_shell',
  description: 'Runs a program on the local machine and gives its output.',
  parameters: parameters(
    {
      command: about(TEXTS, 'The program and its arguments, such as ["bash", "-lc", "ls | wc -l"].'),
      working_directory: TEXT,
      env: { type: 'object', additionalProperties: TEXT },
      timeout_ms: MILLISECONDS,
    },
    ['command'],
  ),
  item: 'local_shell_call',
  members: z
    .object({
      command: z.array(z.string()).min(1),
      working_directory: z.string().nullish(),
      env: z.record(z.string(), z.string()).nullish(),
      timeout_ms: z.number().nullish(),
    })
    .transform(({ env, working_directory = null, timeout_ms = null, command }) => ({
      action: { type: 'exec', command, env: env ?? {}, working_directory, timeout_ms, user: null },
    })),
};

const ACTIONS = [
  'click',
  'double_click',
  'drag',
  'keypress',
  'move',
  'screenshot',
  'scroll',
  'type',
  'wait',
] as const;

const ACTION_MEMBERS = {
  type: oneOf(...ACTIONS),
  x: about(INTEGER, 'In pixels, as y: for click, double_click, move and scroll.'),
  y: INTEGER,
  button: about(oneOf('left', 'right', 'wheel', 'back', 'forward'), 'For click.'),
  scroll_x: about(INTEGER, 'For scroll: by how many pixels.'),
  scroll_y: INTEGER,
  path: {
    type: 'array',
    items: parameters({ x: INTEGER, y: INTEGER }, ['x', 'y']),
    description: 'For drag: the points, from the first to the last.',
  },
  text: about(TEXT, 'For type: what is typed.'),
  keys: about(TEXTS, 'For keypress: the keys, such as ["CTRL", "S"]. Else: keys that are held meanwhile.'),
};

/** What an action has where a model leaves it out. */
const DEFAULTS: Readonly<Record<string, JsonObject>> = {
  click: { button: 'left' },
  double_click: { keys: null },
  scroll: { scroll_x: 0, scroll_y: 0 },
};

const action = z
  .looseObject({ type: z.enum(ACTIONS) })
  .transform((given) => ({ ...DEFAULTS[given.type], ...given }))
  .pipe(ResponsesKnownCall.action);

const SCREEN = 'Uses the mouse and the keyboard of a computer. The result is a screenshot.';

const COMPUTER: ResponsesCallerTool = {
  name: 'computer',
  description: SCREEN,
  parameters: parameters(
    {
      actions: { type: 'array', items: parameters(ACTION_MEMBERS, ['type']), description: 'In their order.' },
    },
    ['actions'],
  ),
  item: 'computer_call',
  members: z
    .object({ actions: z.array(action).min(1) })
    .transform(({ actions }) => ({ actions, pending_safety_checks: [] })),
};

const COMPUTER_PREVIEW: ResponsesCallerTool = {
  name: 'computer',
  description: SCREEN,
  parameters: parameters(ACTION_MEMBERS, ['type']),
  item: 'computer_call',
  members: action.transform((one) => ({ action: one, pending_safety_checks: [] })),
};

const TOOLS: Readonly<Record<KnownCall, ResponsesCallerTool>> = {
  apply_patch: APPLY_PATCH,
  shell: SHELL,
  local_shell: LOCAL_SHELL,
  computer: COMPUTER,
  computer_use: COMPUTER,
  computer_use_preview: COMPUTER_PREVIEW,
};

const isKnown = (type: string): type is KnownCall => Object.hasOwn(TOOLS, type);

/** Null for tools of other types. */
export function responsesCallerTool(
  type: string,
): (ResponsesCallerTool & { readonly known: KnownCall }) | null {
  return isKnown(type) ? { ...TOOLS[type], known: type } : null;
}

/** The item of a call with these arguments; null where they are not what the item is made of. */
export function callItem(known: KnownCall, text: string): CallItem | null {
  const { item: type, members } = TOOLS[known];
  const read = members.safeParse(jsonOf(text));
  return read.success ? { type, members: read.data } : null;
}

function jsonOf(text: string): unknown {
  try {
    return parseBody(boundedJson(text));
  } catch {
    return null;
  }
}
