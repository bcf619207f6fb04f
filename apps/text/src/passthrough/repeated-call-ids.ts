import { randomUUID } from 'node:crypto';
import type { Quirks } from '@gateway/contracts/quirks';
import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import { isObject, type JsonObject, objectAt, textAt } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { dataFrame, namedFrame } from '../wire/stream/sse-frames.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { newId } from '../wire/tokens/new-id.ts';

/** Where a protocol has the calls of an answer: what an event with one holds, and the change of every call's id. */
interface CallPlaces {
  readonly sign: string;
  /** Of a whole reply. */
  readonly member: string;
  readonly prefix: string;
  readonly event: (event: JsonObject, rename: Rename) => JsonObject;
  readonly reply: (reply: JsonObject, rename: Rename) => JsonObject;
}
type Rename = (id: string) => string;

const PLACES: Readonly<Partial<Record<TextProtocol, CallPlaces>>> = {
  chat: {
    sign: '"tool_calls"',
    member: 'choices',
    prefix: 'call_',
    event: (event, rename) => inChoices(event, 'delta', rename),
    reply: (reply, rename) => inChoices(reply, 'message', rename),
  },
  messages: {
    sign: '"tool_use"',
    member: 'content',
    prefix: 'toolu_',
    event: (event, rename) => ({ ...event, content_block: inBlock(event.content_block, rename) }),
    reply: ({ content }, rename) =>
      Array.isArray(content) ? { content: content.map((block) => inBlock(block, rename)) } : {},
  },
};

const ID = /"id"\s*:\s*"([^"\\]+)"/g;

/**
 * Servers that count the calls of each answer from 0 give an id that the conversation has already, and agents that pair
 * calls and results by ids alone go round in circles. The caller gets another id. Others are only looked up in its request.
 */
export class RepeatedCallIds {
  readonly #places: CallPlaces | undefined;
  readonly #request: Buffer;
  readonly #form: Quirks['toolCallIds'];
  /** The ids of this answer's calls so far, each with the one that the caller gets. */
  readonly #known = new Map<string, string>();

  constructor(protocol: TextProtocol, request: Buffer, { toolCallIds }: Pick<Quirks, 'toolCallIds'>) {
    this.#places = PLACES[protocol];
    this.#request = request;
    this.#form = toolCallIds;
  }

  /** The frame that the caller gets instead; null: the frame itself. */
  frame({ latin1, data }: Frame): string | null {
    const places = this.#places;
    if (places === undefined || data === null || !this.#isRepeatedIn(latin1, places)) return null;
    const event = parseBody(data);
    if (!isJsonObject(event)) return null;
    const renamed = places.event(event, this.#rename);
    const type = textAt(renamed, 'type');
    return type === null ? dataFrame(renamed) : namedFrame({ ...renamed, type });
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
    if (!isThere && !this.#request.includes(places.sign)) return null;
    let isRepeated = false;
    const read = isThere ? whole : parsed();
    places.reply(read, (id) => {
      isRepeated ||= this.#rename(id) !== id;
      return id;
    });
    return isRepeated ? places.reply(parsed(), this.#rename) : null;
  }

  #isRepeatedIn(text: string, { sign }: CallPlaces): boolean {
    const at = text.indexOf(sign);
    if (at < 0) return false;
    for (const [, id = ''] of text.matchAll(ID)) if (this.#rename(id) !== id) return true;
    return false;
  }

  #rename = (id: string): string => {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const given = id !== '' && this.#request.includes(`"${id}"`) ? this.#mint() : id;
    this.#known.set(id, given);
    return given;
  };

  #mint(): string {
    if (this.#form === 'nine-alphanumeric') return randomUUID().replaceAll('-', '').slice(0, 9);
    return newId(this.#places?.prefix ?? '');
  }
}

function inChoices(holder: JsonObject, member: 'delta' | 'message', rename: Rename): JsonObject {
  if (!Array.isArray(holder.choices)) return holder;
  const choices = holder.choices.map((choice: unknown) => {
    const output = isObject(choice) ? objectAt(choice, member) : null;
    if (!isObject(choice) || output === null || !Array.isArray(output.tool_calls)) return choice;
    const calls = output.tool_calls.map((call: unknown) => withId(call, rename));
    return { ...choice, [member]: { ...output, tool_calls: calls } };
  });
  return member === 'delta' ? { ...holder, choices } : { choices };
}

const inBlock = (block: unknown, rename: Rename): unknown =>
  isObject(block) && block.type === 'tool_use' ? withId(block, rename) : block;

const withId = (call: unknown, rename: Rename): unknown => {
  const id = isObject(call) ? textAt(call, 'id') : null;
  return isObject(call) && id ? { ...call, id: rename(id) } : call;
};
