import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import type { Mistake } from './configuration-error.ts';
import { expandVariables } from './expand-variables.ts';
import { syntaxMistakes } from './syntax-mistakes.ts';

export type Path = readonly (string | number)[];

interface Place {
  readonly line: number | null;
  readonly column: number | null;
}

/** A configuration file, read: its value, and where in the text each part of it stands. */
export interface YamlDocument {
  readonly value: unknown;
  /** False where the text is no YAML; `value` is then null. */
  readonly isReadable: boolean;
  /** Syntax errors and variables that are not set. */
  readonly mistakes: readonly Mistake[];
  /** The place of a value, or of its name in the mapping around it; else of the nearest thing around it. */
  place(path: Path, at?: 'key' | 'value'): Place;
  /** Whether the value came from the environment, so that it must not be repeated to anybody. */
  fromEnvironment(path: Path): boolean;
}

export const pathText = (path: Path): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${part}`)).join('');

const offsetOf = (document: Document, path: Path, at: 'key' | 'value'): number | null => {
  let node: unknown = document.contents;
  let offset: number | null = isNode(node) ? (node.range?.[0] ?? null) : null;
  for (const [depth, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (!pair || !isNode(pair.key)) break;
      const wantsKey = at === 'key' && depth === path.length - 1;
      const target = wantsKey || !isNode(pair.value) ? pair.key : pair.value;
      offset = target.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      if (!isNode(node)) break;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
};

/** The path of a node that `visit` has come to by these parents. */
const pathOf = (parents: readonly unknown[], node: unknown): Path => {
  const line = [...parents, node];
  return line.flatMap((parent, index): (string | number)[] => {
    if (isPair(parent)) return isScalar(parent.key) ? [String(parent.key.value)] : [];
    return isSeq(parent) ? [parent.items.indexOf(line[index + 1])] : [];
  });
};

/** Reads YAML 1.2 and replaces `${NAME}` in its texts by the environment's values. */
export const readYaml = (text: string, env: Readonly<Record<string, string | undefined>>): YamlDocument => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const placeAt = (offset: number | null): Place => {
    if (offset === null) return { line: null, column: null };
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };

  const mistakes: Mistake[] = syntaxMistakes(document.errors, text).map((mistake) => ({
    ...placeAt(mistake.offset),
    path: '',
    found: mistake.found,
    expected: mistake.expected,
  }));
  const expanded = new Set<Scalar>();
  const isReadable = mistakes.length === 0;
  if (isReadable) {
    visit(document, {
      Pair(_key, pair, parents) {
        if (!isScalar(pair.key) || pair.key.value !== '__proto__') return;
        const place = placeAt(pair.key.range?.[0] ?? null);
        const path = pathText(pathOf(parents, pair));
        // Schemas leave such a member out without a word.
        mistakes.push({ ...place, path, found: '"__proto__"', expected: 'another name' });
      },
      Scalar(key, node, parents) {
        if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
        const result = expandVariables(node.value, env);
        node.value = result.text;
        expanded.add(node);
        const path = pathText(pathOf(parents, node));
        for (const { found, expected } of result.mistakes) {
          mistakes.push({ ...placeAt(node.range?.[0] ?? null), path, found, expected });
        }
      },
    });
  }

  return {
    value: isReadable ? document.toJS({ maxAliasCount: 100 }) : null,
    isReadable,
    mistakes,
    place: (path, at = 'value') => placeAt(offsetOf(document, path, at)),
    fromEnvironment: (path) => {
      const node = document.getIn(path, true);
      return isScalar(node) ? expanded.has(node) : node === undefined;
    },
  };
};
