import { isObject, type JsonObject } from '../../../wire/json-object.ts';

/** The members of a delta, and of a message, that have words. */
const WORDS: ReadonlySet<string> = new Set(['content', 'refusal', 'reasoning', 'reasoning_content']);

/**
 * Chunks whose choices have a message and no delta, as some servers write them: each message has the text so far, or the next piece of
 * it, or comes after deltas with what they have left out.
 */
export class WholeMessages {
  /** What deltas have brought: the choice's number and the member. */
  readonly #inDeltas = new Set<string>();
  /** The words of messages so far, by the same. */
  readonly #said = new Map<string, string>();

  /** Call it for each chunk that is parsed. */
  note({ choices }: JsonObject): void {
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (!isObject(choice) || !isObject(choice.delta)) continue;
      for (const [name, value] of Object.entries(choice.delta))
        if (isSome(name, value)) this.#inDeltas.add(placeOf(choice, name));
    }
  }

  /** The same chunk with deltas. One that has no such message is returned as it is. */
  asDeltas(chunk: JsonObject): JsonObject {
    const { choices } = chunk;
    if (!Array.isArray(choices) || !choices.some(hasMessageAlone)) return chunk;
    return {
      ...chunk,
      choices: choices.map((choice: unknown) => (hasMessageAlone(choice) ? this.#withDelta(choice) : choice)),
    };
  }

  #withDelta({ message, ...choice }: ChoiceWithMessage): JsonObject {
    const delta: { [name: string]: unknown } = {};
    for (const [name, value] of Object.entries(message)) {
      const place = placeOf(choice, name);
      if (this.#inDeltas.has(place)) continue;
      if (name === 'tool_calls') {
        if (!Array.isArray(value) || value.length === 0) continue;
        this.#inDeltas.add(place);
        delta[name] = value.map((call: unknown, index) => (isObject(call) ? { index, ...call } : call));
      } else delta[name] = WORDS.has(name) && typeof value === 'string' ? this.#added(place, value) : value;
    }
    return { ...choice, delta };
  }

  /** What a text adds to those before it. */
  #added(place: string, text: string): string {
    const said = this.#said.get(place) ?? '';
    const isLonger = text.startsWith(said);
    this.#said.set(place, isLonger ? text : said + text);
    return isLonger ? text.slice(said.length) : text;
  }
}

type ChoiceWithMessage = JsonObject & { readonly message: JsonObject };

const hasMessageAlone = (choice: unknown): choice is ChoiceWithMessage =>
  isObject(choice) && isObject(choice.message) && !isObject(choice.delta);

const isSome = (name: string, value: unknown): boolean =>
  name === 'tool_calls' ? Array.isArray(value) && value.length > 0 : WORDS.has(name) && (value ?? '') !== '';

const placeOf = ({ index }: JsonObject, name: string): string => `${String(index ?? 0)} ${name}`;
