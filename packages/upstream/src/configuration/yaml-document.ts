import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import { expandVariables, NOT_HERE, type Variables } from './expand-variables.ts';
import { type Mistake, UnboundedConfiguration } from './mistakes/configuration-error.ts';
import { shownPath, valueAt } from './mistakes/mistake-list.ts';
import { quotedName } from './mistakes/shown-name.ts';
import { syntaxMistakes } from './mistakes/syntax-mistakes.ts';

export type Path = readonly (string | number)[];

interface Position {
  readonly line: number | null;
  readonly column: number | null;
}

/** A parsed configuration file: its value, and the position of each part in the text. */
export interface YamlDocument {
  readonly value: unknown;
  /** The same, with every `${NAME}` as the file has it: only from this may a message quote. */
  readonly literal: unknown;
  /** False if the text is not YAML; `value` is then null. */
  readonly isReadable: boolean;
  /** Syntax errors, names that cannot be used, and variables that are not set. */
  readonly mistakes: readonly Mistake[];
  readonly mistakePaths: readonly Path[];
  /** The position of a value, or of its name in the mapping; else of the nearest enclosing node. */
  position(path: Path, at: 'key' | 'value'): Position;
  /** Whether the value holds a variable whose value this process does not have. */
  isUnknown(path: Path): boolean;
}

/** More of them, one inside the other, are an attack: a few lines would become gigabytes. */
const MAX_ALIASES = 100;
const MAX_OPEN_BRACKETS = 500;
/** Only for a text without a value in the file, such as of an empty one. */
const NO_POSITION: Position = { line: null, column: null };

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
export const pathOf = (parents: readonly unknown[], node: unknown): Path => {
  const line = [...parents, node];
  return line.flatMap((parent, index): (string | number)[] => {
    if (isPair(parent)) return isScalar(parent.key) ? [String(parent.key.value)] : [];
    return isSeq(parent) ? [parent.items.indexOf(line[index + 1])] : [];
  });
};

/** Collects the mistakes of a document with their positions. */
type Report = (mistake: { offset: number | null; path: Path; found: string; expected: string }) => void;

/** Names that are no plain texts, that schemas drop or that come twice, and aliases that lead to themselves. */
function checkNames(document: Document, report: Report): void {
  const anchors = new Map<string, Node>();
  const remember = (node: Node): void => {
    if ('anchor' in node && typeof node.anchor === 'string') anchors.set(node.anchor, node);
  };
  visit(document, {
    Alias(_key, alias, parents) {
      const source = anchors.get(alias.source);
      if (source !== undefined && !parents.some((parent) => parent === source)) return;
      const found =
        source === undefined ? 'an alias without its anchor' : 'an alias inside what it stands for';
      const path = pathOf(parents, alias);
      report({ offset: alias.range?.[0] ?? null, path, found, expected: 'an alias of something before it' });
    },
    Collection: (_key, node) => remember(node),
    Scalar: (_key, node) => remember(node),
    Map(_key, map, parents) {
      remember(map);
      const seen = new Set<string>();
      for (const { key, value } of map.items) {
        const offset = (isNode(key) ? key.range?.[0] : undefined) ?? map.range?.[0] ?? null;
        if (!isScalar(key)) {
          // A name by an alias would be what a variable holds, and would stand in paths and messages.
          report({
            offset,
            path: pathOf(parents, map),
            found: 'an alias or a collection as a name',
            expected: 'a name that is written out',
          });
          continue;
        }
        const name = String(key.value);
        if (typeof key.value === 'symbol') {
          // The library's sign for a merge.
          const sources = isSeq(value) ? value.items : [value];
          const isMerged = sources.every((one) => isMap(isAlias(one) ? anchors.get(one.source) : one));
          const path = [...pathOf(parents, map), '<<'];
          if (!isMerged) report({ offset, path, found: 'something else', expected: 'mappings to merge' });
        } else if (seen.has(name)) {
          report({
            offset,
            path: [],
            found: `${quotedName(name)} for the second time`,
            expected: 'each name once',
          });
        } else if (name === '__proto__') {
          // Schemas drop such a member without an error.
          const path = [...pathOf(parents, map), name];
          report({ offset, path, found: '"__proto__"', expected: 'another name' });
        }
        seen.add(name);
      }
    },
  });
}

/**
 * Reads YAML 1.2 and replaces `${NAME}` in its texts by the environment's values.
 *
 * @throws {UnboundedConfiguration} for a text that is nested too deeply, or whose aliases multiply it
 */
export const readYaml = (text: string, file: string, variables: Variables): YamlDocument => {
  if (!isBounded(text)) throw new UnboundedConfiguration(file);
  const lines = new LineCounter();
  // The library compares each name of a mapping with all others; `checkNames` does it in linear time.
  const document = parseDocument(text, {
    lineCounter: lines,
    merge: true,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  });
  if (document.errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION'))
    throw new UnboundedConfiguration(file);
  const positionAt = (offset: number | null): Position => {
    if (offset === null) return NO_POSITION;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const mistakes: Mistake[] = [];
  const mistakePaths: Path[] = [];
  const report: Report = ({ offset, path, found, expected }) => {
    mistakes.push({ ...positionAt(offset), path: shownPath(path), found, expected });
    mistakePaths.push(path);
  };
  for (const mistake of syntaxMistakes(document.errors, text)) report({ ...mistake, path: [] });
  if (mistakes.length === 0) checkNames(document, report);
  const isReadable = mistakes.length === 0;
  const literal = isReadable ? plain(document, file) : null;
  const unknown = new Set<unknown>();
  if (isReadable) {
    visit(document, {
      Scalar(key, node, parents) {
        if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
        const path = pathOf(parents, node);
        const isOptional = variables.optional !== undefined && path[0] === variables.optional;
        const result = expandVariables(
          node.value,
          isOptional ? { ...variables, placeholder: NOT_HERE } : variables,
        );
        if (result.isUnknown) unknown.add(node.value);
        node.value = result.text;
        for (const found of result.mistakes) report({ ...found, offset: node.range?.[0] ?? null, path });
      },
    });
  }

  return {
    value: isReadable ? plain(document, file) : null,
    literal,
    isReadable,
    mistakes,
    mistakePaths,
    position: (path, at) => positionAt(offsetOf(document, path, at)),
    isUnknown: (path) => unknown.has(valueAt(literal, path)),
  };
};

/** The library takes seconds for thousands of brackets that are never closed, or never opened. */
function isBounded(text: string): boolean {
  let depth = 0;
  for (const sign of text.matchAll(/[[\]{}]/g)) {
    depth += sign[0] === '[' || sign[0] === '{' ? 1 : -1;
    if (Math.abs(depth) > MAX_OPEN_BRACKETS) return false;
  }
  return true;
}

function plain(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    // Whatever else cannot be resolved was reported before.
    if (error instanceof ReferenceError) throw new UnboundedConfiguration(file);
    throw error;
  }
}
