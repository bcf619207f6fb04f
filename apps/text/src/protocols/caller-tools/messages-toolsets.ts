import type { JsonObject } from '../../wire/json-object.ts';
import { FLAG, INTEGER, type KnownTool, NUMBER, oneOf, parameters, TEXT, TEXTS } from './parameters.ts';

type Member = readonly [
  description: string,
  properties?: Readonly<Record<string, JsonObject>>,
  ...required: string[],
];

const POINT = { type: 'array', items: NUMBER, description: 'x and y, in pixels.' };
const REGION = { type: 'array', items: NUMBER, description: 'x and y of the two corners, in pixels.' };
const DIRECTION = oneOf('up', 'down', 'left', 'right');
const AT = { coordinate: POINT, text: { ...TEXT, description: 'Keys that are held meanwhile.' } };

const COMPUTER: Readonly<Record<string, Member>> = {
  key: ['Presses a key or a combination, such as ctrl+s.', { text: TEXT, repeat: INTEGER }, 'text'],
  hold_key: ['Holds keys for some seconds.', { text: TEXT, duration: NUMBER }, 'text', 'duration'],
  type: ['Types a text.', { text: TEXT }, 'text'],
  cursor_position: ['Says where the cursor is.'],
  mouse_move: ['Moves the cursor.', { coordinate: POINT }, 'coordinate'],
  left_mouse_down: ['Presses the left button, and holds it.'],
  left_mouse_up: ['Releases the left button.'],
  left_click: ['Clicks, at the cursor unless a coordinate is given.', AT],
  left_click_drag: [
    'Drags from one point to another.',
    { start_coordinate: POINT, ...AT },
    'start_coordinate',
    'coordinate',
  ],
  right_click: ['Clicks with the right button.', AT],
  middle_click: ['Clicks with the middle button.', AT],
  double_click: ['Clicks twice.', AT],
  triple_click: ['Clicks three times.', AT],
  scroll: [
    'Scrolls.',
    { scroll_direction: DIRECTION, scroll_amount: INTEGER, ...AT },
    'scroll_direction',
    'scroll_amount',
  ],
  wait: ['Waits for some seconds.', { duration: NUMBER }, 'duration'],
  screenshot: ['Shows the screen.'],
  zoom: ['Shows a part of the screen in full resolution.', { region: REGION }, 'region'],
};

const TAB = { tab_id: { ...TEXT, description: 'The tab; the active one unless given.' } };
const SPOT = {
  type: 'object',
  properties: { type: oneOf('coordinate'), x: NUMBER, y: NUMBER },
  required: ['type', 'x', 'y'],
  description: 'A point of the page.',
};
const ELEMENT = {
  type: 'object',
  properties: { type: oneOf('ref'), ref: TEXT },
  required: ['type', 'ref'],
  description: 'An element, by a reference that read_page or find gave.',
};
const TARGET = { anyOf: [SPOT, ELEMENT] };
const CLICK: Member = ['Clicks on a target.', { target: TARGET, modifiers: TEXT, ...TAB }, 'target'];

const BROWSER: Readonly<Record<string, Member>> = {
  navigate: ['Goes to an address.', { url: TEXT, ...TAB }, 'url'],
  list_tabs: ['Lists the tabs.'],
  new_tab: ['Opens a tab.'],
  switch_tab: ['Makes a tab the active one.', { tab_id: TEXT }, 'tab_id'],
  close_tab: ['Closes a tab.', { tab_id: TEXT }, 'tab_id'],
  read_page: [
    'Shows the elements of a page, each with a reference.',
    { filter: oneOf('all', 'interactive'), depth: INTEGER, ref: TEXT, ...TAB },
  ],
  get_page_text: ['Gives the text of a page.', TAB],
  read_console: ["Gives the messages of the page's console.", TAB],
  read_network: ["Gives the page's requests.", TAB],
  find: ['Finds elements by a description.', { query: TEXT, ...TAB }, 'query'],
  form_input: [
    'Sets the value of a field.',
    { target: ELEMENT, value: { anyOf: [TEXT, NUMBER, FLAG] }, ...TAB },
    'target',
    'value',
  ],
  file_upload: [
    'Gives files to a field.',
    { target: ELEMENT, paths: TEXTS, document_ids: TEXTS, ...TAB },
    'target',
  ],
  scroll_to: ['Scrolls until an element is visible.', { target: ELEMENT, ...TAB }, 'target'],
  screenshot: ['Shows the page.', TAB],
  zoom: ['Shows a part of the page in full resolution.', { region: REGION, ...TAB }, 'region'],
  left_click: CLICK,
  right_click: CLICK,
  middle_click: CLICK,
  double_click: CLICK,
  triple_click: CLICK,
  hover: CLICK,
  left_click_drag: [
    'Drags from one point to another.',
    { from: SPOT, target: SPOT, ...TAB },
    'from',
    'target',
  ],
  left_mouse_down: ['Presses the left button, and holds it.', { target: SPOT, ...TAB }, 'target'],
  left_mouse_up: ['Releases the left button.', { target: SPOT, ...TAB }, 'target'],
  mouse_move: ['Moves the cursor.', { target: SPOT, ...TAB }, 'target'],
  scroll: [
    'Scrolls.',
    { target: SPOT, scroll_direction: DIRECTION, scroll_amount: INTEGER, ...TAB },
    'target',
    'scroll_direction',
  ],
  type: ['Types a text.', { text: TEXT, ...TAB }, 'text'],
  key: ['Presses a key or a combination.', { text: TEXT, repeat: INTEGER, ...TAB }, 'text'],
  hold_key: ['Holds keys for some seconds.', { text: TEXT, duration: NUMBER, ...TAB }, 'text', 'duration'],
  wait: ['Waits for some seconds.', { duration: NUMBER, ...TAB }, 'duration'],
  javascript_exec: ['Runs JavaScript in the page, and gives its last value.', { text: TEXT, ...TAB }, 'text'],
};

/** They reach beyond the page, so a caller must enable them itself. */
const OFF_BY_DEFAULT: ReadonlySet<string> = new Set(['javascript_exec', 'file_upload']);

/** By the name that calls and results of a toolset have. */
const TOOLSETS: ReadonlyMap<string, Readonly<Record<string, Member>>> = new Map([
  ['computer', COMPUTER],
  ['browser', BROWSER],
]);

type Configs = Readonly<Record<string, { readonly enabled?: boolean | null | undefined } | null>>;

export interface Toolset {
  /** `toolset_name` of its calls. */
  readonly name: string;
  /** Its members that `configs` leaves in. */
  readonly tools: (configs: Configs) => readonly (KnownTool & { readonly name: string })[];
}

/** A set of tools whose calls the caller's program runs; null for tools of other types. */
export function messagesToolset(type: string): Toolset | null {
  const [, name = ''] = /^([a-z]+)_toolset_\d{8}$/.exec(type) ?? [];
  const members = TOOLSETS.get(name);
  if (members === undefined) return null;
  const tools = (configs: Configs) =>
    Object.entries(members)
      .filter(([member]) => configs[member]?.enabled ?? !OFF_BY_DEFAULT.has(member))
      .map(([member, [description, properties = {}, ...required]]) => ({
        name: member,
        description,
        parameters: parameters(properties, required),
      }));
  return { name, tools };
}
