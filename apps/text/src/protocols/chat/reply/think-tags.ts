const OPEN = '<think>';
const CLOSE = '</think>';

export interface ThoughtPiece {
  readonly kind: 'reasoning' | 'text';
  readonly text: string;
}

/**
 * What an answer without an opening tag begins with: a thought, because the prompt's template opens it; text, because the
 * model writes both tags; or either, which only the closing tag shows.
 */
export type UntaggedHead = 'thought' | 'text' | 'unknown';

/**
 * Separates reasoning from text where a server writes both into one: a thought up to `</think>` first, text after it. Only
 * what could still be part of a tag is held back; and everything while it is unknown what it is.
 */
export class ThinkTags {
  readonly #untagged: UntaggedHead;
  #state: 'head' | 'unknown' | 'thought' | 'after' | 'text' = 'head';
  /** The end of what came, which may be part of a tag. */
  #held = '';
  /** What came without an opening tag, until the closing one. */
  #unopened: string[] = [];
  #wasOpened = false;

  constructor(untagged: UntaggedHead) {
    this.#untagged = untagged;
  }

  push(fragment: string): ThoughtPiece[] {
    let rest = this.#held + fragment;
    this.#held = '';
    const pieces: ThoughtPiece[] = [];
    if (this.#state === 'head') {
      const begun = rest.trimStart();
      if (OPEN.startsWith(begun)) {
        this.#held = rest;
        return [];
      }
      this.#wasOpened = begun.startsWith(OPEN);
      if (this.#wasOpened) rest = begun.slice(OPEN.length);
      this.#state = this.#wasOpened ? 'thought' : STATE_OF[this.#untagged];
    }
    if (this.#state === 'thought' || this.#state === 'unknown') {
      const end = rest.indexOf(CLOSE);
      const thought = end < 0 ? withoutBegunTag(rest) : rest.slice(0, end);
      if (!this.#wasOpened) this.#unopened.push(thought);
      if (this.#state === 'thought') pieces.push({ kind: 'reasoning', text: thought });
      if (end < 0) {
        this.#held = rest.slice(thought.length);
        return pieces.filter(isWritten);
      }
      if (this.#state === 'unknown') pieces.push({ kind: 'reasoning', text: this.#unopened.join('') });
      this.#state = 'after';
      rest = rest.slice(end + CLOSE.length);
    }
    if (this.#state === 'after') {
      rest = rest.trimStart();
      if (rest !== '') this.#state = 'text';
    }
    return [...pieces, { kind: 'text', text: rest } as const].filter(isWritten);
  }

  /** Something else has begun: what is held without an opening tag is no thought. */
  settle(): ThoughtPiece[] {
    if (this.#state !== 'head' && this.#state !== 'unknown') return [];
    const text = this.#unopened.join('') + this.#held;
    this.#held = '';
    this.#state = 'text';
    return [{ kind: 'text', text } as const].filter(isWritten);
  }

  /**
   * The answer is over.
   *
   * @param isAnswered whether it has calls, or was cut. Else a thought that nothing opened or closed was the answer of a
   * model that did not think, and is given as text too: an answer must not be lost
   */
  end(isAnswered: boolean): ThoughtPiece[] {
    if (this.#state !== 'thought') return this.settle();
    const rest = this.#held;
    this.#held = '';
    this.#state = 'text';
    const isLost = !isAnswered && !this.#wasOpened;
    const text = isLost ? this.#unopened.join('') + rest : '';
    return [{ kind: 'reasoning', text: rest } as const, { kind: 'text', text } as const].filter(isWritten);
  }
}

const STATE_OF = { thought: 'thought', text: 'text', unknown: 'unknown' } as const;

const isWritten = ({ text }: ThoughtPiece): boolean => text !== '';

/** A text without the end that may be the beginning of the closing tag. */
function withoutBegunTag(text: string): string {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(CLOSE.slice(0, length))) return text.slice(0, -length);
  }
  return text;
}
