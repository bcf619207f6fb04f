import { ALERT_SECRETS } from '../alerts-entry.ts';
import { AUTH_SECRETS } from '../auth-entry.ts';
import type { Path, YamlDocument } from '../yaml-document.ts';
import type { Mistake } from './configuration-error.ts';
import { foundPhrase, type Place } from './found-phrase.ts';
import { HIDDEN_NAME, isShownName, quotedName } from './shown-name.ts';
import { nearest } from './suggest.ts';

/** Texts below these names are secrets, from any source. */
const SECRET_NAMES: ReadonlySet<string | number> = new Set([
  ...['apiKey', 'apiKeys', 'headers', 'proxy'],
  ...AUTH_SECRETS,
  ...ALERT_SECRETS,
]);
/** A file with more has one cause that the first ones show. */
const MAX_MISTAKES = 500;

export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
    value,
  );

/** A mistake in an entry that a schema cannot find. */
export interface Complaint {
  readonly path: Path;
  readonly expected: string;
  /** `key`: the mistake is in the name and not in its value. `member`: the same, where only certain names are taken. */
  readonly at?: 'key' | 'member';
  /** What was found; by default the value or the name, as far as it may be shown. Holds no text of the file. */
  readonly found?: string;
  /** Default: `open`. */
  readonly place?: Place;
  /** The words that belong there: one that the found word nearly is, is suggested. */
  readonly known?: readonly string[];
}

/** The mistakes of one file, at most one for each part: a consequence of a mistake is not reported. */
export class MistakeList {
  readonly #document: YamlDocument;
  readonly #mistakes: Mistake[];
  readonly #paths: Set<string>;
  /** The parts that lack something of theirs because the document has a mistake within them. */
  readonly #incomplete: ReadonlySet<string>;

  constructor(document: YamlDocument) {
    this.#document = document;
    this.#mistakes = [...document.mistakes];
    this.#paths = new Set(document.mistakePaths.map(keyOf));
    this.#incomplete = new Set(
      document.mistakePaths.flatMap((path) => path.map((_, depth) => keyOf(path.slice(0, depth)))),
    );
  }

  /** In the order of the file. */
  get sorted(): readonly Mistake[] {
    return this.#mistakes.toSorted(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
  }

  add(entry: Path, complaint: Complaint): void {
    const path = [...entry, ...complaint.path];
    const key = keyOf(path);
    if (this.#paths.has(key) || this.#mistakes.length >= MAX_MISTAKES) return;
    if (complaint.at === undefined && (this.#document.isUnknown(path) || this.#incomplete.has(key))) return;
    this.#paths.add(key);
    this.#mistakes.push(
      complaint.at === undefined ? this.#ofValue(path, complaint) : this.#ofName(path, complaint),
    );
  }

  #ofValue(path: Path, { expected, found, place = 'open', known = [] }: Complaint): Mistake {
    const isSecret = path.some((part) => SECRET_NAMES.has(part));
    const literal = valueAt(this.#document.literal, path);
    const words = known.filter(isShownName);
    const mayBeMisspelt = typeof literal === 'string' && !isSecret && !words.includes(literal);
    const hint = mayBeMisspelt ? nearest(literal, words) : '';
    return {
      ...this.#document.position(path, 'value'),
      path: shownPath(path),
      found: found ?? foundPhrase({ literal, place, isSecret, known: words }),
      expected: expected + hint,
    };
  }

  #ofName(path: Path, { expected, at, found, known = [] }: Complaint): Mistake {
    const name = String(path.at(-1) ?? '');
    const isShown =
      isShownName(name) && (at === 'key' || /^[A-Za-z_]{1,30}$/.test(name) || nearest(name, known) !== '');
    return {
      ...this.#document.position(path, 'key'),
      path: isShown ? shownPath(path) : `${shownPath(path.slice(0, -1))}.${HIDDEN_NAME}`,
      found: found ?? quotedName(name, isShown),
      expected: expected + nearest(name, known),
    };
  }
}

const keyOf = (path: Path): string => JSON.stringify(path);

/** Such as `models.gpt-5.2.routes[0].channel`, without names that may be keys. */
export const shownPath = (path: Path): string =>
  path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      return (index === 0 ? '' : '.') + (isShownName(part) ? part : HIDDEN_NAME);
    })
    .join('');
