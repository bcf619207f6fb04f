import type { ChatToolCallFragment } from '@gateway/contracts/openai/chat-wire';
import { parseArguments } from '../../../wire/raw-json.ts';
import { argumentsOf, nameOf } from '../reply/output.ts';

/** What of a call decides which fragments belong to it. */
export interface FollowedCall {
  readonly index: number | null;
  id: string;
  name: string;
  /** Its arguments so far. */
  text: string;
  readonly custom: boolean;
}

/** The call that a fragment begins. Its name, its id and its text are added as those of any other fragment. */
export const begunBy = ({ index, custom }: ChatToolCallFragment): FollowedCall => ({
  index: index ?? null,
  id: '',
  name: '',
  text: '',
  custom: Boolean(custom),
});

/**
 * The calls of one answer and the fragments that each consists of. Servers leave out the index, the id or both, repeat them
 * in every fragment, give them twice, or send a whole call at once.
 */
export class CallFragments<Call extends FollowedCall> {
  readonly all: Call[] = [];
  readonly #begin: (fragment: ChatToolCallFragment, number: number) => Call;
  /** The latest call of each index, and of each id. */
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();

  constructor(begin: (fragment: ChatToolCallFragment, number: number) => Call) {
    this.#begin = begin;
  }

  /** The call that a fragment belongs to, with what it adds to the arguments. */
  add(fragment: ChatToolCallFragment): { readonly call: Call; readonly text: string } {
    const call = this.#known(fragment) ?? this.#another(fragment);
    if (fragment.id && call.id === '') this.#name(call, fragment.id);
    if (call.name === '') call.name = nameOf(fragment);
    const given = argumentsOf(fragment);
    const text = isRepeated(call, fragment, given) ? '' : given;
    call.text += text;
    return { call, text };
  }

  #another(fragment: ChatToolCallFragment): Call {
    const call = this.#begin(fragment, this.all.length);
    this.all.push(call);
    if (call.index !== null) this.#byIndex.set(call.index, call);
    return call;
  }

  #name(call: Call, id: string): void {
    call.id = id;
    this.#byId.set(id, call);
  }

  /** The call that a fragment continues; undefined where it begins another. */
  #known(fragment: ChatToolCallFragment): Call | undefined {
    const { index, id } = fragment;
    const isNumbered = index !== null && index !== undefined;
    const same = isNumbered ? this.#byIndex.get(index) : id ? this.#byId.get(id) : this.all.at(-1);
    const name = nameOf(fragment);
    if (same === undefined || name === '') return same;
    const text = argumentsOf(fragment);
    if (isNumbered || id) {
      // Some servers give every call the same index and distinguish them by id alone, or give them the same id.
      const isAnother = isNumbered && id && same.id && same.id !== id;
      return isAnother || (beginsAnew(same, text) && !isRepeated(same, fragment, text)) ? undefined : same;
    }
    if (same.name === '') return same;
    // Some servers repeat the name with every piece of the arguments.
    const mayContinue = same.name === name && same.text !== '' && text !== '';
    return mayContinue && !(same.text.endsWith('}') && isWhole(same)) ? same : undefined;
  }
}

/** Whether a call's arguments are certainly complete. */
export const isWhole = ({ text, custom }: FollowedCall): boolean =>
  !custom && text.trim() !== '' && parseArguments(text) !== null;

/** Whether arguments begin although those of the call are complete. */
const beginsAnew = (call: FollowedCall, text: string): boolean =>
  text.trimStart().startsWith('{') && call.text.trimEnd().endsWith('}') && isWhole(call);

/** Whether a server says all of a call once more. */
const isRepeated = (call: FollowedCall, fragment: ChatToolCallFragment, text: string): boolean =>
  text === call.text && nameOf(fragment) === call.name && beginsAnew(call, text);
