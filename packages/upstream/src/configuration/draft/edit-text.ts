import { applyPatch, structuredPatch } from 'diff';
import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  type ToStringOptions,
} from 'yaml';
import type { ConfigurationEdit } from './configuration-edit.ts';

/** An edit that has no place in the text. Its message is for the person. */
export class ImpossibleEdit extends Error {
  /** Which of the edits. */
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/**
 * The text after some edits. What is not edited stays as it was written, with its comments.
 *
 * @throws {ImpossibleEdit} where a path does not lead to something that can be edited
 */
export function editText(text: string, edits: readonly ConfigurationEdit[]): string {
  if (edits.length === 0) return text;
  const document = read(text);
  const style = styleOf(text);
  const before = document.toString(style);
  for (const [at, edit] of edits.entries()) {
    try {
      apply(document, edit);
    } catch (error) {
      throw new ImpossibleEdit(at, error instanceof Error ? error.message : String(error));
    }
  }
  return withChanges(text, before, document.toString(style), style);
}

const read = (text: string): Document => {
  const document: Document = parseDocument(text, { uniqueKeys: false, logLevel: 'error' });
  if (document.errors.length > 0)
    throw new ImpossibleEdit(0, 'The text is not YAML. Correct its mistakes first.');
  if (document.contents === null) document.contents = document.createNode({});
  return document;
};

/** A list at the indentation of its name. */
const FLUSH_LIST = /^( *)[^\s#-].*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*\1- /m;
const FIRST_INDENT = /^( {1,8})[^\s#-]/m;

/** How a text is indented: lines that are changed have to fit beside those that stay. */
const styleOf = (text: string): ToStringOptions => ({
  lineWidth: 0,
  indent: FIRST_INDENT.exec(text)?.[1]?.length ?? 2,
  indentSeq: !FLUSH_LIST.test(text),
});

/** The library writes a text in its own style: only the lines that it changed come into the text as it was. */
function withChanges(text: string, before: string, after: string, style: ToStringOptions): string {
  const patch = structuredPatch('', '', before, after, '', '', { context: 2 });
  const patched = applyPatch(text, patch, {
    compareLine: (_number, line, _operation, content) => squeezed(line) === squeezed(content),
  });
  // Where the two differ by more than spaces, the whole text gets that style.
  return patched !== false && isSame(patched, after, style) ? patched : after;
}

const squeezed = (line: string | undefined): string => (line ?? '').replaceAll(/\s+/g, '');

const isSame = (one: string, other: string, style: ToStringOptions): boolean => {
  const document = parseDocument(one, { uniqueKeys: false, logLevel: 'error' });
  return document.errors.length === 0 && document.toString(style) === read(other).toString(style);
};

type Part = string | number;

function apply(document: Document, edit: ConfigurationEdit): void {
  const path = knownPath(document, edit.path);
  const shown = edit.path.join('.');
  switch (edit.op) {
    case 'remove':
      if (!document.hasIn(path)) throw new Error(`There is no ${shown}.`);
      document.deleteIn(path);
      return;
    case 'set':
      document.setIn(path, nodeOf(document, edit.value));
      return;
    case 'add': {
      const list = document.getIn(path, true);
      if (list === undefined) {
        document.setIn(path, nodeOf(document, [edit.value]));
        return;
      }
      if (!isSeq(list)) throw new Error(`${shown} is not a list.`);
      const node = nodeOf(document, edit.value);
      const last = list.items.at(-1);
      if (isCollection(node) && isCollection(last) && last.flow) node.flow = true;
      list.add(node);
    }
  }
}

const nodeOf = (document: Document, value: unknown): Node => document.createNode(value);

/** The names as the text has them: `5:` is a number to the library. @throws where it leads through an alias or a text */
function knownPath(document: Document, path: readonly Part[]): unknown[] {
  const known: unknown[] = [];
  let node: unknown = document.contents;
  for (const [depth, part] of path.entries()) {
    if (node !== undefined && !isCollection(node))
      throw new Error(
        `${path.slice(0, depth).join('.')} is an alias or a plain value. Change it in the text.`,
      );
    if (isMap(node)) {
      // `models: {}` gets lines of its own.
      if (node.items.length === 0) node.flow = false;
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      known.push(isScalar(pair?.key) ? pair.key.value : part);
      // A section that is there and empty, such as `models:`, becomes a mapping.
      const isEmpty = isScalar(pair?.value) && pair.value.value === null;
      if (isEmpty && pair !== undefined && depth < path.length - 1) pair.value = null;
      node = isEmpty ? undefined : (pair?.value ?? undefined);
    } else {
      known.push(part);
      node = isSeq(node) ? node.items[Number(part)] : undefined;
    }
  }
  return known;
}
