import { responseEndAfter } from '@gateway/contracts/event-stream/stream-events';
import { isObject, type JsonObject, textAt } from '../../../wire/json-object.ts';
import { type ItemIdentity, identityOf, matchItems } from './match-items.ts';
import { isOddItem, ownItem } from './own-item.ts';

/** The output of a stream by the events of its items. */
export interface GatheredOutput {
  /** How many items came. */
  readonly size: number;
  /** The items by their positions, in order. One that was not finished has this status. */
  items(status: 'completed' | 'incomplete'): ReadonlyMap<number, JsonObject>;
}

const NOTHING: GatheredOutput = { size: 0, items: () => new Map() };

/**
 * The members that a response lacks of what its server has said elsewhere: the items of its stream are the authority for
 * its output, and its last event is for its status. Some servers write the text of an answer beside an empty output.
 *
 * @param lastEvent the type of the event that has the response; null for a whole reply
 * @returns null where nothing is missing
 */
export function missingMembers(
  response: JsonObject,
  lastEvent: string | null,
  gathered: GatheredOutput = NOTHING,
): JsonObject | null {
  const shown = Array.isArray(response.output) ? response.output.filter(isObject) : [];
  const due = (lastEvent === null ? undefined : responseEndAfter(lastEvent)) ?? 'completed';
  const status = lastEvent === null ? (response.status ?? due) : due;
  const isCompleted = status === 'completed';
  const isShort = shown.length < gathered.size || shown.some(isUnfinished);
  const items = () => gathered.items(isCompleted ? 'completed' : 'incomplete');
  const output = isShort ? joined(shown, items(), isCompleted) : shown;
  const text = output.some(({ type }) => type === 'message') ? null : textAt(response, 'output_text');
  const said = text === null || text === '' ? output : [...output, messageOf(text)];
  const all = said.some(isOddItem) ? said.map(ownItem) : said;
  // A reply without an output may be anything.
  const isUnknown = (response.status ?? null) === null && !Array.isArray(response.output);
  const isTrue = isUnknown || response.status === status;
  return all === shown && isTrue ? null : { status, output: all };
}

/** The items that are nothing without words. */
const WORDED = new Set<unknown>(['message', 'function_call', 'custom_tool_call']);

/** Whether an item of a response that has ended may have more elsewhere. */
export const isUnfinished = (item: JsonObject): boolean =>
  item.status === 'in_progress' || (WORDED.has(item.type) && lengthOf(item) === 0);

function joined(
  shown: readonly JsonObject[],
  items: ReadonlyMap<number, JsonObject>,
  isCompleted: boolean,
): readonly JsonObject[] {
  const known = new Map<number, ItemIdentity>([...items].map(([at, item]) => [at, identityOf(item)]));
  const positions = matchItems(known, shown);
  const shownAt = new Map(positions.map((position, index) => [position, shown[index]]));
  const brought = [...items].map(([position, item]) => fuller(shownAt.get(position), item));
  const others = shown.filter((_, index) => positions[index] === null);
  const output = [...brought, ...others].map((item) =>
    isCompleted && item.status === 'in_progress' ? { ...item, status: 'completed' } : item,
  );
  const isSame = output.length === shown.length && output.every((item, index) => item === shown[index]);
  return isSame ? shown : output;
}

const fuller = (shown: JsonObject | undefined, item: JsonObject): JsonObject => {
  if (shown === undefined) return item;
  const isLess = lengthOf(shown) < lengthOf(item) || shown.status === 'in_progress';
  return isLess ? { ...shown, ...item } : shown;
};

/** Characters of what a model has written into an item. */
function lengthOf(item: JsonObject): number {
  const lists = [item.content, item.summary].filter((list) => Array.isArray(list));
  const own = [item.arguments, item.input].filter((text) => typeof text === 'string');
  const parts = lists.flat().map((part) => (isObject(part) ? (part.text ?? part.refusal) : null));
  const words = [...own, ...parts].filter((text) => typeof text === 'string');
  return words.reduce((sum, text) => sum + text.length, 0);
}

const messageOf = (text: string): JsonObject => ({
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
