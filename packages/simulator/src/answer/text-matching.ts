/** How often a part with an open end, such as `a+`, is written at least. */
const MAX_REPEATS = 200;
const MAX_PATTERN_CHARS = 1000;
const MAX_TEXT_CHARS = 10_000;

/** Characters that are tried for a class or an escape, in this order. */
const SAMPLES = [
  ...'aA1 _-.@/:+,#',
  ...'bcdefghijklmnopqrstuvwxyz',
  ...'023456789',
  ...'BCDEFGHIJKLMNOPQRSTUVWXYZ',
];

/** The unread rest of a pattern. */
interface Reading {
  rest: string;
}

/** The pattern's next piece, if it is of this form. */
const take = (reading: Reading, form: RegExp): RegExpExecArray | null => {
  const found = form.exec(reading.rest);
  if (found) reading.rest = reading.rest.slice(found[0].length);
  return found;
};

const CLASS = /^\[(?:\\.|[^\]\\])*\]/s;
const ESCAPED_CLASS = /^\\(?:[dwsDWS]|p\{[^}]*\})/;

const sampleOf = (characterClass: string): string => {
  const one = new RegExp(`^${characterClass}$`, 'u');
  return SAMPLES.find((character) => one.test(character)) ?? 'a';
};

const atom = (reading: Reading): string | null => {
  if (take(reading, /^\((?:\?:|\?<\w+>)?(?![?])/)) {
    const text = alternatives(reading);
    return text !== null && take(reading, /^\)/) ? text : null;
  }
  const characterClass = take(reading, CLASS) ?? take(reading, ESCAPED_CLASS);
  if (characterClass) return sampleOf(characterClass[0]);
  if (take(reading, /^(?:\^|\$|\\b)/)) return '';
  if (take(reading, /^\./)) return 'a';
  return (take(reading, /^\\([^A-Za-z0-9])/) ?? take(reading, /^([^\\()[\]{}*+?|^$.])/s))?.[1] ?? null;
};

const sequence = (reading: Reading): string | null => {
  let text = '';
  while (reading.rest !== '' && !/^[|)]/.test(reading.rest)) {
    const one = atom(reading);
    if (one === null) return null;
    const quantifier = take(reading, /^(?:([*?])|(\+)|\{(\d+)(?:,\d*)?\})\??/);
    const [, none, some, count] = quantifier ?? [];
    const times = none ? 0 : some || count === undefined ? 1 : Number(count);
    text += one.repeat(Math.min(times, MAX_REPEATS));
    if (text.length > MAX_TEXT_CHARS) return null;
  }
  return text;
};

/** The first alternative; the others are skipped. */
const alternatives = (reading: Reading): string | null => {
  const first = sequence(reading);
  while (take(reading, /^\|/)) if (sequence(reading) === null) return null;
  return first;
};

/** A short text that matches a schema's `pattern`; null for a pattern that is not supported. */
export const textMatching = (pattern: string): string | null => {
  if (pattern.length > MAX_PATTERN_CHARS) return null;
  try {
    const reading = { rest: pattern };
    const text = alternatives(reading);
    return text !== null && reading.rest === '' && new RegExp(pattern, 'u').test(text) ? text : null;
  } catch {
    return null;
  }
};
