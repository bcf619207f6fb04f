import { characters, isShownName } from './shown-name.ts';
import { nearest } from './suggest.ts';

/** What a place of the file takes. Only where that is closed may a message repeat a text from the file. */
export type Place =
  /** Free text, lists, mappings. */
  | 'open'
  /** A number, true or false, or one of a few words. */
  | 'closed';

interface Found {
  /** As the file has it, so that no variable is filled in. */
  readonly literal: unknown;
  readonly place: Place;
  /** Whether it is below a name for keys and headers. */
  readonly isSecret: boolean;
  /** The words that the place takes. */
  readonly known: readonly string[];
}

const ONLY_VARIABLES = /^(\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/;
const WORD = /^[A-Za-z]{1,12}$/;
/** Such as `1s` or `20%`. */
const NUMBER_WITH_UNIT = /^[+-]?\d{1,6}([.,]\d{1,6})?\s?[A-Za-z%]{0,3}$/;
const MAX_NUMBER_CHARS = { closed: 12, open: 3 } as const;

/**
 * What a message says was found. It never holds a value from the environment, and of texts in the file only those that cannot be
 * a key: a short word or a number where such is expected, and what is nearly a word of that place.
 */
export function foundPhrase({ literal, place, isSecret, known }: Found): string {
  if (literal === undefined) return 'nothing';
  if (literal === null) return 'nothing (null)';
  if (Array.isArray(literal)) return literal.length === 0 ? 'an empty list' : 'a list';
  if (typeof literal === 'object') return 'a mapping';
  if (literal === '') return 'an empty text';
  const text = String(literal);
  if (isSecret) return `a ${typeof literal} (not shown)`;
  if (ONLY_VARIABLES.test(text) && isShownName(text)) return `the value of ${text}`;
  if (typeof literal === 'boolean') return text;
  if (typeof literal === 'number') return text.length <= MAX_NUMBER_CHARS[place] ? text : 'a number';
  const isWord = place === 'closed' && (WORD.test(text) || NUMBER_WITH_UNIT.test(text));
  return isWord || nearest(text, known) !== '' ? JSON.stringify(text) : `a text of ${characters(text)}`;
}
