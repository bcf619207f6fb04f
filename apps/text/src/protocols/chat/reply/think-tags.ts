const OPEN = '<think>';
const CLOSE = '</think>';

export interface ThoughtPiece {
  readonly kind: 'reasoning' | 'text';
  readonly text: string;
}

/**
 * Separates reasoning from text where a server writes both into one: `<think>…</think>` first, text after it. Only
 * what could still be part of a tag is held back.
 */
export class ThinkTags {
  #state: 'head' | 'thinking' | 'after' | 'text' = 'head';
  #held = '';

  push(fragment: string): ThoughtPiece[] {
    let rest = this.#held + fragment;
    this.#held = '';
    const pieces: ThoughtPiece[] = [];
    if (this.#state === 'head') {
      const begun = rest.trimStart();
      if (begun.startsWith(OPEN)) {
        this.#state = 'thinking';
        rest = begun.slice(OPEN.length);
      } else if (OPEN.startsWith(begun)) {
        this.#held = rest;
        return [];
      } else this.#state = 'text';
    }
    if (this.#state === 'thinking') {
      const end = rest.indexOf(CLOSE);
      const thought = end < 0 ? withoutBegunTag(rest) : rest.slice(0, end);
      if (thought !== '') pieces.push({ kind: 'reasoning', text: thought });
      if (end < 0) {
        this.#held = rest.slice(thought.length);
        return pieces;
      }
      this.#state = 'after';
      rest = rest.slice(end + CLOSE.length);
    }
    if (this.#state === 'after') {
      rest = rest.trimStart();
      if (rest !== '') this.#state = 'text';
    }
    if (rest !== '') pieces.push({ kind: 'text', text: rest });
    return pieces;
  }

  end(): ThoughtPiece[] {
    const text = this.#held;
    this.#held = '';
    if (text === '') return [];
    return [{ kind: this.#state === 'thinking' ? 'reasoning' : 'text', text }];
  }
}

/** A text without the end that may be the beginning of the closing tag. */
function withoutBegunTag(text: string): string {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(CLOSE.slice(0, length))) return text.slice(0, -length);
  }
  return text;
}
