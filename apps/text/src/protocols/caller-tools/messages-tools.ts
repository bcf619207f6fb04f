import { about, FLAG, INTEGER, type KnownTool, NUMBER, oneOf, parameters, TEXT } from './parameters.ts';

const RANGE = { type: 'array', items: INTEGER };
const POINT = about(RANGE, 'x and y, in pixels.');

const BASH: KnownTool = {
  description: 'Runs a command in a bash session that keeps its state between calls.',
  parameters: parameters({
    command: about(TEXT, 'The command to run. Needed unless restart is true.'),
    restart: about(FLAG, 'Restarts the session.'),
  }),
};

/** What the editor and the memory have in common. */
const FILE_MEMBERS = {
  path: about(TEXT, 'The absolute path of a file or a directory.'),
  file_text: about(TEXT, 'For create: the whole content.'),
  old_str: about(TEXT, 'For str_replace: the text to replace, which must occur exactly once.'),
  new_str: about(TEXT, 'For str_replace: the text in its place.'),
  insert_line: about(INTEGER, 'For insert: the line to insert after; 0 is the beginning.'),
  insert_text: about(TEXT, 'For insert: the text.'),
  view_range: about(RANGE, 'For view: the first and the last line; -1 is the end.'),
};

/** Until this version the editor could undo, and inserted `new_str`. */
const LAST_WITH_UNDO = '20250124';

function editor(version: string): KnownTool {
  const commands = ['view', 'create', 'str_replace', 'insert'];
  const { insert_text: inserted, ...old } = FILE_MEMBERS;
  const isOld = version <= LAST_WITH_UNDO;
  const members = isOld
    ? { ...old, new_str: about(TEXT, 'For str_replace and insert: the new text.') }
    : { ...old, insert_text: inserted };
  return {
    description: 'Views, creates and edits text files.',
    parameters: parameters({ command: oneOf(...commands, ...(isOld ? ['undo_edit'] : [])), ...members }, [
      'command',
      'path',
    ]),
  };
}

const MEMORY: KnownTool = {
  description:
    'Keeps notes across conversations as files below /memories. View that directory before you begin, and record there what will be needed later.',
  parameters: parameters(
    {
      command: oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...FILE_MEMBERS,
      old_path: about(TEXT, 'For rename: the path so far.'),
      new_path: about(TEXT, 'For rename: the new path.'),
    },
    ['command'],
  ),
};

const ACTIONS = [
  'screenshot',
  'cursor_position',
  'mouse_move',
  'left_click',
  'right_click',
  'middle_click',
  'double_click',
  'left_click_drag',
  'key',
  'type',
];
const ACTIONS_SINCE_2025 = ['triple_click', 'left_mouse_down', 'left_mouse_up', 'scroll', 'hold_key', 'wait'];
const FIRST_WITH_SCROLL = '20250124';

/** Members of a tool that its schema depends on. */
interface Settings {
  readonly display_width_px?: number | null | undefined;
  readonly display_height_px?: number | null | undefined;
  readonly enable_zoom?: boolean | null | undefined;
}

function computer(version: string, settings: Settings): KnownTool {
  const { display_width_px: width, display_height_px: height, enable_zoom: zooms } = settings;
  const actions = [
    ...ACTIONS,
    ...(version >= FIRST_WITH_SCROLL ? ACTIONS_SINCE_2025 : []),
    ...(zooms ? ['zoom'] : []),
  ];
  const size = width && height ? ` The screen is ${width} by ${height} pixels.` : '';
  return {
    description: `Sees a screen and uses its mouse and keyboard.${size} Take a screenshot to see what an action did.`,
    parameters: parameters(
      {
        action: oneOf(...actions),
        coordinate: POINT,
        start_coordinate: about(POINT, 'For left_click_drag: where it begins.'),
        text: about(TEXT, 'The text to type, or the keys: "ctrl+s". With a click: keys that are held.'),
        duration: about(NUMBER, 'For hold_key and wait: seconds.'),
        scroll_direction: oneOf('up', 'down', 'left', 'right'),
        scroll_amount: about(INTEGER, 'For scroll: how many clicks of the wheel.'),
        ...(zooms && { region: about(RANGE, 'For zoom: x and y of the two corners.') }),
      },
      ['action'],
    ),
  };
}

const TYPE = /^(bash|text_editor|memory|computer)_(\d{8})$/;

/** How other models are told of a tool of this type; null where the caller's program does not run its calls. */
export function messagesClientTool(type: string): ((settings: Settings) => KnownTool) | null {
  const [, family, version = ''] = TYPE.exec(type) ?? [];
  switch (family) {
    case 'bash':
      return () => BASH;
    case 'text_editor':
      return () => editor(version);
    case 'memory':
      return () => MEMORY;
    case 'computer':
      return (settings) => computer(version, settings);
    default:
      return null;
  }
}
