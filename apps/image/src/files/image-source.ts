/** What a text that should be an image is: base64, a data URL, a URL, or the beginning of one of the last two. */
export interface ImageSourceText {
  readonly kind: 'base64' | 'data' | 'url' | 'begun';
  /** Where base64 begins in it. */
  readonly from: number;
}

const DATA_URL = /^\s*data:[^,]*;\s*base64\s*,/i;
const URL_HEAD = /^\s*https?:\/\//i;
/** What the others begin with, as far as it has come. */
const BEGUN = /^\s*(?:d(?:a(?:t(?:a(?::[^,]*)?)?)?)?|h(?:t(?:t(?:ps?(?::\/?)?)?)?)?)?$/i;

/** Servers put a data URL, or a URL, where the protocol has base64, and the other way round. */
export function sourceOf(text: string): ImageSourceText {
  const head = DATA_URL.exec(text)?.[0];
  if (head !== undefined) return { kind: 'data', from: head.length };
  if (URL_HEAD.test(text)) return { kind: 'url', from: 0 };
  return { kind: BEGUN.test(text) ? 'begun' : 'base64', from: 0 };
}
