import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import type { Checked, OutputHold } from '@gateway/hooks/request-hooks';
import type { Protocol } from '@gateway/upstream/protocol';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import { streamEnder } from './blocked-replies.ts';
import { eventTexts, type StreamPiece } from './stream-pieces.ts';
import { withoutTokens } from './text-slots.ts';

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

interface HeldPiece {
  /** What it is checked with. */
  readonly key: string;
  /** Which text it is of. */
  readonly of: string;
  /** It is all of it, and not a part. */
  readonly isWhole: boolean;
  text: string;
  put(text: string): void;
}

interface HeldEvent {
  readonly frame: Frame;
  readonly event: { [member: string]: unknown } | null;
  readonly data: string;
  readonly pieces: readonly HeldPiece[];
  readonly repeats: readonly StreamPiece[];
  /** What ends with it; see `EventTexts`. */
  readonly over: readonly string[];
  isChanged: boolean;
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
  /** Keys of pieces after which none follow. */
  readonly #over = new Set<string>();
  #held: HeldEvent[] = [];
  #events = 0;
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
    const isWindow = hold.windowChars !== Number.POSITIVE_INFINITY;
    const event = this.#read(frame);
    const length = lengthOf(event);
    // Nothing of a text that is over has to stay held. Where the event has some of it, that goes before.
    if (
      length === 0 &&
      this.#ends(event.over) &&
      isWindow &&
      (await this.#check(released, { isLast: false }))
    )
      return true;
    this.#held.push(event);
    this.#unchecked += length;
    this.#heldChars += length;
    const ends = length > 0 && this.#ends(event.over) && isWindow;
    if (ends || this.#unchecked >= hold.windowChars || this.#heldChars > hold.maxChars)
      return this.#check(released, { isLast: false });
    if (this.#heldChars === 0) this.#release(this.#held.length, released);
    return false;
  }

  /** Notes which texts are over. @returns whether something of them is held */
  #ends(over: readonly string[]): boolean {
    if (over.length === 0) return false;
    let isHeld = false;
    for (const { pieces } of this.#held)
      for (const { key } of pieces) {
        if (!over.some((prefix) => key.startsWith(prefix))) continue;
        this.#over.add(key);
        isHeld = true;
      }
    return isHeld;
  }

  #read(frame: Frame): HeldEvent {
    const data = frame.data ?? '';
    const nothing = { frame, data, pieces: [], repeats: [], over: [], isChanged: false };
    const parsed = data === '' || data === END_MARK ? null : parsedOf(data);
    if (parsed === null) return { ...nothing, event: null };
    this.#events += 1;
    const { pieces, repeats, over } = eventTexts(this.#options.protocol, parsed, this.#events);
    for (const { key, text } of pieces) {
      this.#textOf(key).came += text;
      this.#over.delete(key);
    }
    // What was not in pieces before is one.
    const isNew = ({ key, text }: StreamPiece) => this.#textOf(key).came !== text;
    const unseen = repeats.filter(isNew);
    for (const { key, text } of unseen) this.#textOf(key).came = text;
    const known = repeats.filter((repeat) => !unseen.includes(repeat));
    const whole = unseen.map((piece) => heldPiece(piece, `${piece.key}=`, true));
    for (const { key } of whole) this.#over.add(key);
    return {
      ...nothing,
      event: parsed,
      pieces: [...pieces.map((piece) => heldPiece(piece, piece.key, false)), ...whole],
      repeats: known,
      over,
    };
  }

  /** Checks what is held, and releases what may pass. @returns whether it was blocked */
  async #check(released: EventFrame[], { isLast }: { readonly isLast: boolean }): Promise<boolean> {
    const texts = new Map<string, string>();
    for (const { pieces } of this.#held)
      for (const { key, text } of pieces) if (text !== '') texts.set(key, (texts.get(key) ?? '') + text);
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
    const count = isLast ? this.#held.length : this.#beforeOverlap();
    if (checked.texts !== null)
      for (const [index, [key, text]] of [...texts].entries()) {
        const replaced = checked.texts[index] ?? '';
        if (replaced !== text) this.#replace(key, replaced, count);
      }
    this.#release(count, released);
    return false;
  }

  /**
   * How many of the held events may go: the last characters of each text stay, since they are the beginning of what follows. Texts
   * that others have left far behind hold nothing up.
   */
  #beforeOverlap(): number {
    const { windowChars, overlapChars } = this.#options.hold;
    const kept = new Map<string, number>();
    let count = this.#held.length;
    let passed = 0;
    for (const [index, held] of [...this.#held.entries()].reverse()) {
      if (passed > windowChars + overlapChars * kept.size) break;
      for (const { key, text } of held.pieces) {
        passed += text.length;
        const keptOf = kept.get(key) ?? 0;
        if (this.#over.has(key) || keptOf >= overlapChars) continue;
        kept.set(key, keptOf + text.length);
        count = index;
      }
    }
    return count;
  }

  /**
   * Puts another text into the held events: the first one of those that go gets all but the end, and the first one of those that
   * stay the end, which is checked again with what follows.
   */
  #replace(key: string, replaced: string, count: number): void {
    const going = piecesOf(this.#held.slice(0, count), key);
    const staying = piecesOf(this.#held.slice(count), key);
    const rest = staying.map(({ piece }) => piece.text).join('');
    let cut = replaced.length;
    if (staying.length > 0) {
      if (going.length === 0) cut = 0;
      else if (replaced.endsWith(rest)) cut -= rest.length;
      else cut = wholeCharacter(replaced, Math.max(0, cut - this.#options.hold.overlapChars));
    }
    putIn(going, replaced.slice(0, cut));
    if (replaced.slice(cut) !== rest) putIn(staying, replaced.slice(cut));
    this.#heldChars = this.#held.reduce((sum, held) => sum + lengthOf(held), 0);
  }

  #release(count: number, released: EventFrame[]): void {
    for (const held of this.#held.splice(0, count)) {
      this.#heldChars -= lengthOf(held);
      for (const { of, text, isWhole } of held.pieces) {
        const known = this.#textOf(of);
        known.shown = isWhole ? text : known.shown + text;
      }
      for (const repeat of held.repeats) {
        const { shown } = this.#textOf(repeat.key);
        if (shown === repeat.text) continue;
        repeat.put(shown);
        held.isChanged = true;
      }
      const frame = held.isChanged ? rewritten(held) : held.frame;
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

const heldPiece = ({ key: of, text, put }: StreamPiece, key: string, isWhole: boolean): HeldPiece => ({
  key,
  of,
  isWhole,
  text,
  put,
});

interface PlacedPiece {
  readonly held: HeldEvent;
  readonly piece: HeldPiece;
}

const piecesOf = (events: readonly HeldEvent[], key: string): readonly PlacedPiece[] =>
  events.flatMap((held) => held.pieces.flatMap((piece) => (piece.key === key ? [{ held, piece }] : [])));

/** The first piece gets a text, and the others none. */
function putIn(placed: readonly PlacedPiece[], text: string): void {
  for (const [index, { held, piece }] of placed.entries()) {
    piece.text = index === 0 ? text : '';
    piece.put(piece.text);
    held.isChanged = true;
  }
}

/** The same place in a text, or the one before it where that would cut a character in two. */
const wholeCharacter = (text: string, at: number): number =>
  at > 0 && /^[\uDC00-\uDFFF]/.test(text.slice(at, at + 1)) ? at - 1 : at;

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
  const text = `${name === undefined ? '' : `${name.trim()}\n`}data: ${JSON.stringify(withoutTokens(event))}\n\n`;
  const [written] = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY }).push(Buffer.from(text));
  return written ?? frame;
}
