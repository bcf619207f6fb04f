import type { ChatToolCallFragment } from '@gateway/contracts/openai/chat-wire';
import type { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import { upstreamNonsense } from '../../../wire/read-upstream.ts';
import { begunBy, CallFragments, type FollowedCall, isWhole } from './call-fragments.ts';

interface Call extends FollowedCall {
  readonly key: string;
  started: boolean;
  closed: boolean;
}

/**
 * Puts tool calls together from fragments, which may be interleaved. A call is closed as soon as its arguments are certainly
 * complete and other content follows, else at the end.
 */
export class CallStream {
  readonly #parts: PartSequence;
  readonly #calls = new CallFragments<Call>((fragment, number) => ({
    ...begunBy(fragment),
    key: `call ${number}`,
    started: false,
    closed: false,
  }));
  readonly #byKey = new Map<string, Call>();

  constructor(parts: PartSequence) {
    this.#parts = parts;
  }

  get any(): boolean {
    return this.#calls.all.length > 0;
  }

  *add(fragment: ChatToolCallFragment): Generator<StreamEvent> {
    const { call, text } = this.#calls.add(fragment);
    this.#byKey.set(call.key, call);
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

  /** @throws GatewayError for a call without a name: nobody could run it */
  *closeAll(): Generator<StreamEvent> {
    for (const call of this.#calls.all) {
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
}
