import type { ChatToolCallFragment } from '@gateway/contracts/openai/chat-wire';
import type { PartSequence } from '../../../conversation/reply/part-sequence.ts';
import type { StreamEvent } from '../../../conversation/reply/stream-event.ts';
import { parseArguments } from '../../../wire/raw-json.ts';
import { upstreamNonsense } from '../../../wire/read-upstream.ts';
import { argumentsOf, nameOf } from '../reply/output.ts';

interface Call {
  readonly key: string;
  index: number | null;
  id: string;
  name: string;
  text: string;
  custom: boolean;
  started: boolean;
  closed: boolean;
}

/**
 * Puts tool calls together from fragments. Servers leave out the index, the id or both, repeat them in every fragment,
 * or send a whole call at once; calls may also be interleaved. A call is closed as soon as its arguments are certainly
 * complete and other content follows, else at the end.
 */
export class CallStream {
  readonly #parts: PartSequence;
  readonly #calls: Call[] = [];
  readonly #byKey = new Map<string, Call>();
  /** The latest call of each index, and of each id. */
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();

  constructor(parts: PartSequence) {
    this.#parts = parts;
  }

  get any(): boolean {
    return this.#calls.length > 0;
  }

  *add(fragment: ChatToolCallFragment): Generator<StreamEvent> {
    const call = this.#callOf(fragment);
    if (fragment.id && call.id === '') this.#name(call, fragment.id);
    if (call.name === '') call.name = nameOf(fragment);
    const text = argumentsOf(fragment);
    call.text += text;
    if (call.started) {
      if (text !== '') yield* this.#parts.add(call.key, { type: 'tool-call-delta', text });
    } else if (call.name !== '') yield* this.#start(call);
    // Only a closing brace can have made the speaking call whole.
    if (this.#parts.contended && (text === '' || text.includes('}'))) yield* this.settle();
  }

  /** Closes the speaking call where it is certainly complete, so that the call that waits for it can begin. */
  *settle(): Generator<StreamEvent> {
    do {
      const speaking = this.#byKey.get(this.#parts.speaking ?? '');
      if (speaking === undefined || !isWhole(speaking)) return;
      yield* this.#close(speaking);
    } while (this.#parts.contended);
  }

  #name(call: Call, id: string): void {
    call.id = id;
    this.#byId.set(id, call);
  }

  /** @throws GatewayError for a call without a name: nobody could run it */
  *closeAll(): Generator<StreamEvent> {
    for (const call of this.#calls) {
      if (!call.started) throw upstreamNonsense();
      if (!call.closed) yield* this.#close(call);
    }
  }

  *#start(call: Call): Generator<StreamEvent> {
    call.started = true;
    const { id, name, custom } = call;
    yield* this.#parts.open(call.key, { type: 'tool-call-start', id, name, ...(custom && { custom }) });
    if (call.text !== '') yield* this.#parts.add(call.key, { type: 'tool-call-delta', text: call.text });
  }

  #close(call: Call): StreamEvent[] {
    call.closed = true;
    return this.#parts.close(call.key, { type: 'tool-call-end' });
  }

  #callOf(fragment: ChatToolCallFragment): Call {
    const known = this.#known(fragment);
    if (known !== undefined) return known;
    const call: Call = {
      key: `call ${this.#calls.length}`,
      index: fragment.index ?? null,
      id: fragment.id ?? '',
      name: '',
      text: '',
      custom: Boolean(fragment.custom),
      started: false,
      closed: false,
    };
    this.#calls.push(call);
    this.#byKey.set(call.key, call);
    if (call.index !== null) this.#byIndex.set(call.index, call);
    if (call.id !== '') this.#byId.set(call.id, call);
    return call;
  }

  /** The call that a fragment continues; undefined where it begins another. */
  #known({ index, id, ...members }: ChatToolCallFragment): Call | undefined {
    const last = this.#calls.at(-1);
    if (index !== null && index !== undefined) {
      const same = this.#byIndex.get(index);
      // Some servers give every call the same index and distinguish them by id alone.
      const isAnother = id && same?.id && same.id !== id && nameOf(members) !== '';
      return isAnother ? undefined : same;
    }
    if (id) return this.#byId.get(id);
    if (last === undefined || nameOf(members) === '' || last.name === '') return last;
    // Some servers repeat the name with every piece of the arguments.
    const mayContinue = last.name === nameOf(members) && last.text !== '' && argumentsOf(members) !== '';
    return mayContinue && !(last.text.endsWith('}') && isWhole(last)) ? last : undefined;
  }
}

const isWhole = ({ text, custom }: Call): boolean =>
  !custom && text.trim() !== '' && parseArguments(text) !== null;
