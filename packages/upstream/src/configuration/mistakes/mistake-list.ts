import { type Path, pathText, type YamlDocument } from '../yaml-document.ts';
import type { Mistake } from './configuration-error.ts';

/** Texts below these names are secrets, from any source. */
const SECRET_NAMES: ReadonlySet<string | number> = new Set(['apiKey', 'apiKeys', 'headers', 'proxy']);

export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
    value,
  );

/** A value in words; a text that may be a secret is not repeated. */
const found = (value: unknown, secret: boolean): string => {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (secret || /:\/\/.*@/.test(String(value)))
    return value === '' ? 'an empty text' : `a ${typeof value} (not shown)`;
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 80) : value);
};

const mistakeAt = (
  document: YamlDocument,
  path: Path,
  expected: string,
  options: { at?: 'key' | 'value'; found?: string } = {},
): Mistake => {
  const secret = path.some((part) => SECRET_NAMES.has(part)) || document.fromEnvironment(path);
  return {
    ...document.position(path, options.at),
    path: pathText(path),
    found: options.found ?? found(valueAt(document.value, path), secret),
    expected,
  };
};

/** A mistake in an entry that a schema cannot find. */
export interface Complaint {
  readonly path: Path;
  readonly expected: string;
  /** Whether the mistake is in the name and not in its value. */
  readonly at?: 'key';
  readonly found?: string;
}

/** The mistakes of one file, at most one for each part: a consequence of a mistake is not reported. */
export class MistakeList {
  readonly #document: YamlDocument;
  readonly #mistakes: Mistake[];
  readonly #paths: Set<string>;

  constructor(document: YamlDocument) {
    this.#document = document;
    this.#mistakes = [...document.mistakes];
    this.#paths = new Set(document.mistakes.map(({ path }) => path));
  }

  /** In the order of the file. */
  get sorted(): readonly Mistake[] {
    return this.#mistakes.toSorted(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
  }

  add(entry: Path, { path, expected, ...options }: Complaint): void {
    const mistake = mistakeAt(this.#document, [...entry, ...path], expected, options);
    if (this.#paths.has(mistake.path)) return;
    this.#paths.add(mistake.path);
    this.#mistakes.push(mistake);
  }
}
