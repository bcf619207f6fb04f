import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { newItemId } from '../stored/stored-conversations.ts';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { newId } from '../wire/tokens/new-id.ts';
import type { SentIds } from './sent-ids.ts';

/** An id that a server makes for one answer has so many characters beside its prefix, or so many digits and nothing else. */
const MIN_CHARACTERS = 8;
const MIN_DIGITS = 18;
const MIN_DIFFERENT = 4;

const PREFIX = /^[a-z]+[-_]/i;
const SEPARATORS = /[^a-z0-9]/gi;

/** Whether a server may give an id to several of its answers: a counter, a time, a short number. */
export function mayComeAgain(id: string): boolean {
  const rest = id.replace(PREFIX, '').replaceAll(SEPARATORS, '');
  const enough = /^\d*$/.test(rest) ? MIN_DIGITS : MIN_CHARACTERS;
  return rest.length < enough || new Set(rest).size < MIN_DIFFERENT;
}

/** Ids in JSON that is not parsed. Inside a text the quotes are escaped, so that they do not match. */
const IDS = /"(?:id|item_id)"\s*:\s*"([^"\\]*)"/g;
const CALL_IDS = /"call_id"\s*:\s*"([^"\\]+)"/g;
const ITEM_ID = /("item_id"\s*:\s*)"([^"\\]*)"/;
const OUTPUT_INDEX = /"output_index"\s*:\s*(\d+)/;

/** Calls that the caller runs: it answers them by these ids. */
const CALLS = new Set<unknown>(['function_call', 'custom_tool_call']);

const callOf = (item: JsonObject): string | null => (CALLS.has(item.type) ? textAt(item, 'call_id') : null);

/** What the gateway has stored for a caller: the records and items of these ids. */
export interface StoredIds {
  hasResponse(id: string): Promise<boolean>;
  hasItem(id: string): Promise<boolean>;
}

interface GivenIdsOptions {
  readonly sent: SentIds;
  /**
   * Where a later request finds this answer. `connection`: what it has forgotten must not be found in the place of it. Null: nothing
   * of it can be named.
   */
  readonly heldBy: StoredIds | 'connection' | null;
}

type Shown<Frames> = Frames | Promise<Frames | Frame> | null;

/**
 * The ids of a response that its server does not store. Such servers give ids that come again (`resp_1`, `msg_0`, `call_0`); what
 * the gateway holds under them would be found in the place of another answer. Where the caller has had such an id before, it gets
 * one of the gateway's instead, from the first event on. All other ids stay.
 */
export class GivenIds {
  readonly #sent: SentIds;
  readonly #heldBy: GivenIdsOptions['heldBy'];
  /** What the caller gets, by the place of what has the id, and by the id. */
  readonly #given = new Map<string, string>();
  /** Whether the caller has had an id before, by what has it. */
  readonly #known = new Map<string, boolean>();
  /** What looks that up, where it is not known yet. */
  readonly #looks = new Map<string, Promise<void>>();
  /** The place of the first item and the first call that has each id. */
  readonly #places = new Map<string, Place | string>();
  /** While ids are looked up, what follows waits. */
  #pending: Promise<void> | null = null;

  constructor({ sent, heldBy }: GivenIdsOptions) {
    this.#sent = sent;
    this.#heldBy = heldBy;
  }

  /** Whether the caller gets another id than its server's, or may get one. */
  get hasChanged(): boolean {
    return this.#given.size > 0 || this.#pending !== null;
  }

  /** The members that a streamed response gets instead; null where its ids are its own. */
  async response(response: JsonObject): Promise<JsonObject | null> {
    await this.#lookUp({ response });
    return this.#inResponse(response);
  }

  /** The same for its items alone: whether the id of a whole response is new is known when it is stored. */
  async output({ output }: JsonObject): Promise<JsonObject | null> {
    await this.#lookUp({ response: { output } });
    return this.#inOutput(output);
  }

  /** The frame of a delta that the caller gets instead; null: the frame itself. */
  delta(frame: Frame): Shown<string> {
    if (this.#pending !== null) return this.#pending.then(() => this.delta(frame) ?? frame);
    if (this.#given.size === 0) return null;
    const text = frame.bytes.toString('utf8', frame.start, frame.end);
    const [, opening, id = ''] = ITEM_ID.exec(text) ?? [];
    const given = this.#given.get(keyOf(placeIn(text), id));
    return given === undefined ? null : text.replace(ITEM_ID, () => `${opening}"${given}"`);
  }

  /** The same for any other frame. */
  frame(frame: Frame): Shown<string> {
    const before = this.#pending;
    const data = frame.data?.startsWith('{') ? frame.data : null;
    const event =
      data !== null && (before !== null || this.#mayChange(frame.latin1)) ? parseBody(data) : null;
    if (!isJsonObject(event)) return before === null ? null : before.then(() => frame);
    const looked = this.#lookUp(event);
    if (before === null && looked === null) return this.#written(event);
    // Ids are looked up while those before them are, and many at a time; frames keep their order.
    const pending = Promise.all([before, looked]).then(() => {
      if (this.#pending === pending) this.#pending = null;
    });
    this.#pending = pending;
    return pending.then(() => this.#written(event) ?? frame);
  }

  #written(event: JsonObject): string | null {
    const [type, changed] = [textAt(event, 'type'), this.#inEvent(event)];
    return type === null || changed === null ? null : namedFrame({ ...changed, type });
  }

  #mayChange(text: string): boolean {
    if (this.#given.size > 0) return true;
    if (this.#heldBy !== null)
      for (const [, id = ''] of text.matchAll(IDS)) if (mayComeAgain(id)) return true;
    const calls = Array.from(text.matchAll(CALL_IDS), ([, id = '']) => id);
    if (this.#sent.due(calls) !== null) return true;
    const place = placeIn(text);
    return calls.some((id) => this.#callComesAgain(id, place));
  }

  /** Looks up the ids of an event that may come again and are not known yet; null where there are none. */
  #lookUp({ response, item }: JsonObject): Promise<void> | null {
    const stored = this.#heldBy;
    const shown = isObject(response) ? response : {};
    const items = [item, ...(Array.isArray(shown.output) ? shown.output : [])].filter(isObject);
    const due = this.#sent.due(items.flatMap((one) => callOf(one) ?? []));
    if (stored === null || stored === 'connection') return due;
    const looked = [
      ...(due === null ? [] : [due]),
      ...this.#unknown(RESPONSE, [shown], (id) => stored.hasResponse(id)),
      ...this.#unknown(ITEM, items, (id) => stored.hasItem(id)),
    ];
    return looked.length === 0 ? null : Promise.all(looked).then(() => undefined);
  }

  #unknown(kind: string, holders: JsonObject[], has: (id: string) => Promise<boolean>): Promise<void>[] {
    const ids = new Set(holders.flatMap((holder) => textAt(holder, 'id') ?? []));
    return [...ids]
      .filter((id) => mayComeAgain(id) && !this.#known.has(kind + id))
      .map((id) => {
        const look = this.#looks.get(kind + id) ?? this.#look(kind + id, has(id));
        this.#looks.set(kind + id, look);
        return look;
      });
  }

  /** Where that cannot be known it may be so. */
  async #look(key: string, has: Promise<boolean>): Promise<void> {
    this.#known.set(key, await has.catch(() => true));
    this.#looks.delete(key);
  }

  #inEvent(event: JsonObject): JsonObject | null {
    const response = objectAt(event, 'response');
    if (response !== null) {
      const members = this.#inResponse(response);
      return members && { ...event, response: { ...response, ...members } };
    }
    const place = numberAt(event, 'output_index') ?? undefined;
    if (isObject(event.item)) {
      const item = this.#inItem(event.item, place);
      return item === event.item ? null : { ...event, item };
    }
    const given = this.#given.get(keyOf(place, textAt(event, 'item_id') ?? ''));
    return given === undefined ? null : { ...event, item_id: given };
  }

  #inResponse(response: JsonObject): JsonObject | null {
    const id = textAt(response, 'id');
    const given = id === null ? null : this.#own(RESPONSE, RESPONSE, id, () => newId('resp_'));
    const output = this.#inOutput(response.output);
    return given === id ? output : { ...output, id: given };
  }

  #inOutput(output: unknown): JsonObject | null {
    if (!Array.isArray(output)) return null;
    const items = output.map((item, index) => this.#inItem(item, index));
    return items.some((item, index) => item !== output[index]) ? { output: items } : null;
  }

  #inItem(item: unknown, place: Place): unknown {
    if (!isObject(item)) return item;
    const [id, call] = [textAt(item, 'id'), callOf(item)];
    const ownId = id === null ? null : this.#own(ITEM, place, id, () => newItemId(item.type));
    const ownCall = call === null ? null : this.#call(call, place);
    if (ownId === id && ownCall === call) return item;
    return { ...item, ...(ownId !== null && { id: ownId }), ...(ownCall !== null && { call_id: ownCall }) };
  }

  #own(kind: string, place: Place | string, id: string, make: () => string): string {
    if (this.#heldBy === null || !mayComeAgain(id)) return id;
    const isOld = this.#heldBy === 'connection' || (this.#known.get(kind + id) ?? false);
    const isElsewhere = this.#isElsewhere(kind + id, place);
    return isOld || isElsewhere ? this.#made(keyOf(place, id), make) : id;
  }

  #call(id: string, place: Place): string {
    return this.#callComesAgain(id, place)
      ? this.#made(`call ${keyOf(place, id)}`, () => newId('call_'))
      : id;
  }

  /** Whether the conversation has a call of this id already, or this answer at another place. */
  #callComesAgain(id: string, place: Place): boolean {
    return this.#isElsewhere(`call ${id}`, place) || this.#sent.has(id);
  }

  /** Whether another part of this answer has the id as well, and came first. */
  #isElsewhere(id: string, place: Place | string): boolean {
    const first = this.#places.get(id);
    if (first === undefined) this.#places.set(id, place);
    return first !== undefined && place !== undefined && first !== place;
  }

  #made(key: string, make: () => string): string {
    const given = this.#given.get(key) ?? make();
    this.#given.set(key, given);
    return given;
  }
}

const [RESPONSE, ITEM] = ['response ', 'item '] as const;

/** The position of an item in the output; undefined where its server does not tell. */
type Place = number | undefined;

const placeIn = (text: string): Place => {
  const [, place] = OUTPUT_INDEX.exec(text) ?? [];
  return place === undefined ? undefined : Number(place);
};

const keyOf = (place: Place | string, id: string): string => `${place} ${id}`;
