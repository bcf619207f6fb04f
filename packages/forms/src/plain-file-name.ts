/** RFC 2047, 2: a charset, a way of encoding, and the text. */
const ENCODED_WORD = /=\?([\w-]{1,40})(?:\*[\w-]*)?\?([bq])\?([^?\s]*)\?=/gi;
const BETWEEN_WORDS = /(\?=)\s+(?==\?)/g;
/** What recorders and browsers append to an ending: a query, a fragment, the parameters of a content type. */
const APPENDED = /(\.[a-z0-9]{1,8})\s*[?#;].*$/is;
/** The folders of a path, of any system. */
const FOLDERS = /^.*[\\/]/s;
/** Control characters, line ends, and marks that turn the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}"]/gu;
const MAX_CHARACTERS = 1000;

/** A file's name as plain text: decoded, without folders, quotes and what was appended to it. */
export const plainFileName = (name: string): string =>
  name
    .slice(0, MAX_CHARACTERS)
    .replace(BETWEEN_WORDS, '$1')
    .replace(
      ENCODED_WORD,
      (word: string, charset: string, way: string, text: string) => decoded(charset, way, text) ?? word,
    )
    .replace(APPENDED, '$1')
    .replace(FOLDERS, '')
    .replace(UNPRINTABLE, '')
    .trim();

/** Undefined for a charset that does not exist. */
function decoded(charset: string, way: string, text: string): string | undefined {
  const bytes = way.toLowerCase() === 'b' ? Buffer.from(text, 'base64') : unquoted(text);
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return undefined;
  }
}

const unquoted = (text: string): Buffer =>
  Buffer.from(
    text
      .replaceAll('_', ' ')
      .replace(/=([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  );
