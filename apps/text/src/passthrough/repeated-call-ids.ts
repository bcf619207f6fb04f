import { randomUUID } from 'node:crypto';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { dataFrame, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { Quirks } from '@gateway/contracts/quirks';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { newId } from '../wire/tokens/new-id.ts';
import type { SentIds } from './sent-ids.ts';

/** Where a protocol has the calls of an answer: what an event with one holds, and the change of every call's id. */
interface CallPlaces {
  readonly sign: string;
  /** Whether the ids of its calls come after that; what comes before has others. */
  readonly idsFollow: boolean;
  /** Of a whole reply. */
  readonly member: string;
  readonly prefix: string;
  readonly event: (event: JsonObject, rename: Rename) => JsonObject;
  readonly reply: (reply: JsonObject, rename: Rename) => JsonObject;
}
/** @param place of the call within the answer; null where its server does not tell */
type Rename = (id: string, place: string | null) => string;

const PLACES: Readonly<Partial<Record<TextProtocol, CallPlaces>>> = {
  chat: {
    sign: '"tool_calls"',
    idsFollow: true,
    member: 'choices',
    prefix: 'call_',
    event: (event, rename) => inChoices(event, 'delta', rename),
    reply: (reply, rename) => inChoices(reply, 'message', rename),
  },
  messages: {
    sign: '"tool_use"',
    idsFollow: false,
    member: 'content',
    prefix: 'toolu_',
    event: (event, rename) => ({
      ...event,
      content_block: inBlock(event.content_block, numberIn(event), rename),
    }),
    reply: ({ content }, rename) =>
      Array.isArray(content)
        ? { content: content.map((block, index) => inBlock(block, `${index}`, rename)) }
        : {},
  },
};

const ID = /"id"\s*:\s*"([^"\\]+)"/g;

/**
 * Servers that count the calls of each answer from 0, or give all of an answer's calls one id, give an id that the conversation
 * has already, and agents that pair calls and results by ids alone go round in circles. The caller gets another id. Others
 * are only looked up in its request and among those before them.
 */
export class RepeatedCallIds {
  readonly #places: CallPlaces | undefined;
  readonly #sent: SentIds;
  readonly #form: Quirks['toolCallIds'];
  /** The place of the first call that has each id. */
  readonly #owners = new Map<string, string | null>();
  /** What the caller gets for an id, or for that of another call than the first. */
  readonly #given = new Map<string, string>();
  /** Events with calls whose ids were new, until one of these comes again. */
  readonly #unread: string[] = [];
  readonly #seen = new Set<string>();

  constructor(protocol: TextProtocol, sent: SentIds, { toolCallIds }: Pick<Quirks, 'toolCallIds'>) {
    this.#places = PLACES[protocol];
    this.#sent = sent;
    this.#form = toolCallIds;
  }

  /** The frame that the caller gets instead; null: the frame itself. */
  frame({ latin1, data }: Pick<Frame, 'latin1' | 'data'>): string | null | Promise<string | null> {
    const places = this.#places;
    const ids = places === undefined ? [] : idsAt(latin1, places);
    if (places === undefined || data === null || ids.length === 0) return null;
    const due = this.#sent.due(ids);
    return due === null ? this.#shown(data, ids, places) : due.then(() => this.#shown(data, ids, places));
  }

  #shown(data: string, ids: readonly string[], places: CallPlaces): string | null {
    if (!this.#mayRepeat(data, ids)) return null;
    for (const earlier of this.#unread.splice(0)) this.#renamed(earlier, places);
    const event = this.#renamed(data, places);
    if (event === null) return null;
    const type = textAt(event, 'type');
    return type === null ? dataFrame(event) : namedFrame({ ...event, type });
  }

  /** The event with the ids that the caller gets; null where they are its own. */
  #renamed(data: string, { event: change }: CallPlaces): JsonObject | null {
    const event = parseBody(data);
    if (!isJsonObject(event)) return null;
    let isRepeated = false;
    const renamed = change(event, (id, place) => {
      const given = this.#rename(id, place);
      isRepeated ||= given !== id;
      return given;
    });
    return isRepeated ? renamed : null;
  }

  /**
   * The members of a whole reply that the caller gets instead; null for none.
   *
   * @param whole what is read of every reply; of a large one without all of its members
   */
  reply(whole: JsonObject, parsed: () => JsonObject): JsonObject | null {
    const places = this.#places;
    if (places === undefined) return null;
    const isThere = places.member in whole;
    if (!isThere && !this.#sent.includes(places.sign)) return null;
    let isRepeated = false;
    const read = isThere ? whole : parsed();
    places.reply(read, (id, place) => {
      isRepeated ||= this.#rename(id, place) !== id;
      return id;
    });
    return isRepeated ? places.reply(parsed(), this.#rename) : null;
  }

  /** Whether an event has a call whose id the conversation, or a call before it, may have. */
  #mayRepeat(data: string, ids: readonly string[]): boolean {
    for (const id of ids) {
      if (this.#seen.has(id) || this.#isUsed(id)) return true;
      this.#seen.add(id);
    }
    this.#unread.push(data);
    return false;
  }

  #isUsed(id: string): boolean {
    return id !== '' && this.#sent.has(id);
  }

  #rename = (id: string, place: string | null): string => {
    const owner = this.#owners.get(id);
    if (owner === undefined) this.#owners.set(id, place);
    const isFirst = owner === undefined || owner === place || owner === null || place === null;
    const key = isFirst ? id : `${place} ${id}`;
    const known = this.#given.get(key);
    if (known !== undefined) return known;
    const given = isFirst && !this.#isUsed(id) ? id : this.#mint();
    this.#given.set(key, given);
    return given;
  };

  #mint(): string {
    if (this.#form === 'nine-alphanumeric') return randomUUID().replaceAll('-', '').slice(0, 9);
    return newId(this.#places?.prefix ?? '');
  }
}

function idsAt(text: string, { sign, idsFollow }: CallPlaces): readonly string[] {
  const at = text.indexOf(sign);
  return at < 0 ? [] : Array.from((idsFollow ? text.slice(at) : text).matchAll(ID), ([, id = '']) => id);
}

function inChoices(holder: JsonObject, member: 'delta' | 'message', rename: Rename): JsonObject {
  if (!Array.isArray(holder.choices)) return holder;
  const isWhole = member === 'message';
  const choices = holder.choices.map((choice: unknown, position) => {
    const output = isObject(choice) ? objectAt(choice, member) : null;
    if (!isObject(choice) || output === null || !Array.isArray(output.tool_calls)) return choice;
    const calls = output.tool_calls.map((call: unknown, at) => {
      const number = isWhole ? `${at}` : numberIn(call);
      return withId(call, number && `${choice.index ?? position}.${number}`, rename);
    });
    return { ...choice, [member]: { ...output, tool_calls: calls } };
  });
  return isWhole ? { choices } : { ...holder, choices };
}

const inBlock = (block: unknown, place: string | null, rename: Rename): unknown =>
  isObject(block) && block.type === 'tool_use' ? withId(block, place, rename) : block;

/** The number by which the events of a stream name a call. */
const numberIn = (holder: unknown): string | null => {
  const number = isObject(holder) ? numberAt(holder, 'index') : null;
  return number === null ? null : `${number}`;
};

const withId = (call: unknown, place: string | null, rename: Rename): unknown => {
  const id = isObject(call) ? textAt(call, 'id') : null;
  return isObject(call) && id ? { ...call, id: rename(id, place) } : call;
};
