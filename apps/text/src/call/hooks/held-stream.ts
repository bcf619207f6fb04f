import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import type { Checked, OutputHold } from '@gateway/hooks/request-hooks';
import type { Protocol } from '@gateway/upstream/protocol';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import { streamEnder } from './blocked-replies.ts';
import { eventTexts, type StreamPiece } from './stream-pieces.ts';

interface HeldStreamOptions {
  readonly protocol: Protocol;
  readonly hold: OutputHold;
  /** Checks texts that the model has written. */
  readonly check: (texts: readonly string[]) => Promise<Checked>;
}

/** What a stream's caller may get now, and whether that is all: the rest was blocked. */
export interface Released {
  readonly frames: readonly EventFrame[];
  readonly isBlocked: boolean;
}

interface HeldEvent {
  readonly frame: Frame;
  readonly event: { [member: string]: unknown } | null;
  readonly data: string;
  readonly pieces: readonly StreamPiece[];
  readonly repeats: readonly StreamPiece[];
  /** Those of them that have another text now. */
  readonly changed: Set<StreamPiece>;
}

/** One text of the answer: as it came so far, and as its caller gets it. */
interface StreamText {
  came: string;
  shown: string;
}

const lengthOf = ({ pieces }: HeldEvent): number => pieces.reduce((sum, { text }) => sum + text.length, 0);

/**
 * Holds the texts of a stream until they have been checked, a window at a time. The end of each window stays held and is checked
 * with the next one, so that nothing is overlooked that lies across their border. What nobody changes passes as its bytes.
 */
export class HeldStream {
  readonly #options: HeldStreamOptions;
  readonly #ender: ReturnType<typeof streamEnder>;
  readonly #texts = new Map<string, StreamText>();
  #held: HeldEvent[] = [];
  /** Characters that have come since the last check. */
  #unchecked = 0;
  #heldChars = 0;

  constructor(options: HeldStreamOptions) {
    this.#options = options;
    this.#ender = streamEnder(options.protocol);
  }

  async push(frames: readonly Frame[]): Promise<Released> {
    const released: EventFrame[] = [];
    for (const frame of frames) {
      const isBlocked = await this.#frame(frame, released);
      if (isBlocked) return { frames: released, isBlocked };
    }
    return { frames: released, isBlocked: false };
  }

  /** The stream has ended, or broken off: what is held is checked now. */
  async end(): Promise<Released> {
    const released: EventFrame[] = [];
    const isBlocked = await this.#check(released, { isLast: true });
    return { frames: released, isBlocked };
  }

  /** @returns whether it was blocked */
  async #frame(frame: Frame, released: EventFrame[]): Promise<boolean> {
    const { hold } = this.#options;
    const { isSilence, ...event } = this.#read(frame);
    const length = lengthOf(event);
    const isWhole = hold.windowChars === Number.POSITIVE_INFINITY;
    // What follows a text shows that it is over: nothing of it has to stay held.
    if (length === 0 && !isSilence && !isWhole && (await this.#check(released, { isLast: true })))
      return true;
    this.#held.push(event);
    this.#unchecked += length;
    this.#heldChars += length;
    if (this.#unchecked >= hold.windowChars || this.#heldChars > hold.maxChars)
      return this.#check(released, { isLast: event.repeats.length > 0 });
    if (this.#heldChars === 0) this.#release(this.#held.length, released);
    return false;
  }

  #read(frame: Frame): HeldEvent & { readonly isSilence: boolean } {
    const data = frame.data ?? '';
    const nothing = { frame, data, pieces: [], repeats: [], changed: new Set<StreamPiece>() };
    if (data === '') return { ...nothing, event: null, isSilence: true };
    const parsed = data === END_MARK ? null : parsedOf(data);
    if (parsed === null) return { ...nothing, event: null, isSilence: false };
    const { pieces, repeats, isSilence } = eventTexts(this.#options.protocol, parsed);
    for (const { key, text } of pieces) this.#textOf(key).came += text;
    // What was not in pieces before is one.
    const isNew = ({ key, text }: StreamPiece) => this.#textOf(key).came !== text;
    const unseen = repeats.filter(isNew);
    for (const { key, text } of unseen) this.#textOf(key).came = text;
    const known = repeats.filter((repeat) => !unseen.includes(repeat));
    return {
      ...nothing,
      event: parsed,
      pieces: [...pieces, ...unseen],
      repeats: known,
      isSilence,
    };
  }

  /** Checks what is held, and releases what may pass. @returns whether it was blocked */
  async #check(released: EventFrame[], { isLast }: { readonly isLast: boolean }): Promise<boolean> {
    const texts = new Map<string, string>();
    for (const { pieces } of this.#held)
      for (const { key, text } of pieces) texts.set(key, (texts.get(key) ?? '') + text);
    if (texts.size === 0) {
      this.#release(this.#held.length, released);
      return false;
    }
    const checked = await this.#options.check([...texts.values()]);
    this.#unchecked = 0;
    if (checked.isBlocked) {
      this.#held = [];
      released.push(this.#ender.blocked());
      return true;
    }
    let count = isLast ? this.#held.length : this.#beforeOverlap();
    if (checked.texts !== null) {
      const changed = new Map([...texts.keys()].map((key, index) => [key, checked.texts?.[index] ?? '']));
      if (!this.#replace(texts, changed, count)) {
        count = this.#held.length;
        this.#replace(texts, changed, count);
      }
    }
    this.#release(count, released);
    return false;
  }

  /** How many of the held events may go: the last characters stay. */
  #beforeOverlap(): number {
    const { overlapChars } = this.#options.hold;
    let kept = 0;
    let count = this.#held.length;
    while (count > 0 && kept < overlapChars) {
      count -= 1;
      const event = this.#held[count];
      kept += event === undefined ? 0 : lengthOf(event);
    }
    return count;
  }

  /**
   * Puts other texts into the first events, as many as are to go: the first one of a text gets all of it. False where what stays
   * was changed too.
   */
  #replace(texts: ReadonlyMap<string, string>, changed: ReadonlyMap<string, string>, count: number): boolean {
    const going = this.#held.slice(0, count);
    const staying = this.#held.slice(count);
    const plans: { readonly key: string; readonly text: string }[] = [];
    for (const [key, text] of texts) {
      const replaced = changed.get(key) ?? text;
      if (replaced === text) continue;
      const rest = joined(staying, key);
      if (!replaced.endsWith(rest) || (joined(going, key) === '' && replaced !== rest)) return false;
      plans.push({ key, text: replaced.slice(0, replaced.length - rest.length) });
    }
    for (const { key, text } of plans) {
      let put = text;
      for (const event of going)
        for (const piece of event.pieces)
          if (piece.key === key) {
            piece.put(put);
            this.#textOf(key).shown += put;
            put = '';
            event.changed.add(piece);
          }
    }
    return true;
  }

  #release(count: number, released: EventFrame[]): void {
    for (const held of this.#held.splice(0, count)) {
      this.#heldChars -= lengthOf(held);
      for (const piece of held.pieces)
        if (!held.changed.has(piece)) this.#textOf(piece.key).shown += piece.text;
      for (const repeat of held.repeats) {
        const { shown } = this.#textOf(repeat.key);
        if (shown === repeat.text) continue;
        repeat.put(shown);
        held.changed.add(repeat);
      }
      const frame = held.changed.size > 0 ? rewritten(held) : held.frame;
      if (held.event !== null) this.#ender.passed(held.event, held.data, frame);
      released.push(frame);
    }
  }

  #textOf(key: string): StreamText {
    const known = this.#texts.get(key) ?? { came: '', shown: '' };
    this.#texts.set(key, known);
    return known;
  }
}

const joined = (events: readonly HeldEvent[], key: string): string =>
  events.flatMap(({ pieces }) => pieces.flatMap((piece) => (piece.key === key ? [piece.text] : []))).join('');

function parsedOf(data: string): { [member: string]: unknown } | null {
  try {
    const parsed = parseBody(data);
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    // Whoever reads the stream says that it is none.
    return null;
  }
}

const NAME_LINE = /^event:.*$/m;

/** The event with its changed data, in the form in which we write events. */
function rewritten({ frame, event }: HeldEvent): Frame {
  const name = NAME_LINE.exec(frame.bytes.toString('utf8', frame.start, frame.end))?.[0];
  const text = `${name === undefined ? '' : `${name.trim()}\n`}data: ${JSON.stringify(event)}\n\n`;
  const [written] = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY }).push(Buffer.from(text));
  return written ?? frame;
}
