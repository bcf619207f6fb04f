import { lookUp } from '@gateway/contracts/look-up';
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
import type { Mistake } from './mistakes/configuration-error.ts';
import { syntaxMistakes } from './mistakes/syntax-mistakes.ts';

interface Expansion {
  readonly text: string;
  readonly mistakes: readonly { readonly found: string; readonly expected: string }[];
}

/**
 * Replaces `${NAME}` by the environment's value; `$${` means a plain `${`.
 * A variable that is missing or empty is a mistake: Compose passes unset variables on as empty ones.
 */
const expandVariables = (text: string, env: Readonly<Record<string, string | undefined>>): Expansion => {
  const mistakes: { found: string; expected: string }[] = [];
  const replaced = text.replace(/\$\$\{|\$\{([^}]*)\}?/g, (whole: string, name: string | undefined) => {
    if (whole === '$${') return '${';
    if (name === undefined || !whole.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      mistakes.push({
        found: `"${whole.slice(0, 40)}"`,
        expected: `the name of an environment variable, as in \${NAME} (write $\${ for a plain \${)`,
      });
      return '';
    }
    const value = lookUp(env, name);
    if (value === undefined || value === '') {
      mistakes.push({
        found: `\${${name}}, which is ${value === '' ? 'empty' : 'not set'}`,
        expected: `the environment variable ${name} to be set`,
      });
      return '';
    }
    return value;
  });
  return { text: replaced, mistakes };
};

export type Path = readonly (string | number)[];

interface Position {
  readonly line: number | null;
  readonly column: number | null;
}

/** A parsed configuration file: its value, and the position of each part in the text. */
export interface YamlDocument {
  readonly value: unknown;
  /** False if the text is not YAML; `value` is then null. */
  readonly isReadable: boolean;
  /** Syntax errors and variables that are not set. */
  readonly mistakes: readonly Mistake[];
  /** The position of a value, or of its name in the mapping; else of the nearest enclosing node. */
  position(path: Path, at?: 'key' | 'value'): Position;
  /** Whether the value came from the environment, so that no message may quote it. */
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
      const isKey = at === 'key' && depth === path.length - 1;
      const target = isKey || !isNode(pair.value) ? pair.key : pair.value;
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

/** The path of a node with these parents. */
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
  const positionAt = (offset: number | null): Position => {
    if (offset === null) return { line: null, column: null };
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };

  const mistakes: Mistake[] = syntaxMistakes(document.errors, text).map((mistake) => ({
    ...positionAt(mistake.offset),
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
        const position = positionAt(pair.key.range?.[0] ?? null);
        const path = pathText(pathOf(parents, pair));
        // Schemas drop such a member without an error.
        mistakes.push({ ...position, path, found: '"__proto__"', expected: 'another name' });
      },
      Scalar(key, node, parents) {
        if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
        const result = expandVariables(node.value, env);
        node.value = result.text;
        expanded.add(node);
        const path = pathText(pathOf(parents, node));
        for (const { found, expected } of result.mistakes) {
          mistakes.push({ ...positionAt(node.range?.[0] ?? null), path, found, expected });
        }
      },
    });
  }

  return {
    value: isReadable ? document.toJS({ maxAliasCount: 100 }) : null,
    isReadable,
    mistakes,
    position: (path, at = 'value') => positionAt(offsetOf(document, path, at)),
    fromEnvironment: (path) => {
      const node = document.getIn(path, true);
      return isScalar(node) ? expanded.has(node) : node === undefined;
    },
  };
};
