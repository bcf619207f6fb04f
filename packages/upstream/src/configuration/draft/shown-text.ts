import { isScalar, Lexer, parseDocument, type Scalar, visit } from 'yaml';
import { maskedValue } from '../masked-configuration.ts';
import { valueAt } from '../mistakes/mistake-list.ts';
import { beginsAsKey } from '../mistakes/shown-name.ts';
import { type Path, pathOf } from '../yaml-document.ts';

/** A secret that stands in a text, not as a variable. */
export interface WrittenSecret {
  readonly path: Path;
  readonly value: string;
  /** Where its scalar is in the text. */
  readonly start: number;
  readonly end: number;
  /** What is shown instead. */
  readonly masked: string;
}

/** The secrets that a text without mistakes has, in its order. */
export function writtenSecrets(text: string): readonly WrittenSecret[] {
  const document = parseDocument(text, { merge: false, uniqueKeys: false, logLevel: 'error' });
  const plain: unknown = document.toJS();
  const masked = maskedValue(plain);
  const found: WrittenSecret[] = [];
  const add = (node: Scalar, path: Path): void => {
    const shown = valueAt(masked, path);
    if (shown === undefined || node.range == null || shown === valueAt(plain, path)) return;
    const [start, end] = node.range;
    found.push({ path, value: String(node.value), start, end, masked: String(shown) });
  };
  visit(document, {
    Scalar: (key, node, parents) => {
      if (key !== 'key' && isScalar(node)) add(node, pathOf(parents, node));
    },
  });
  return found;
}

/**
 * A text without mistakes as it is edited: as it was written, but for its secrets, and for comments that may hold one. A misspelt
 * member could hold a secret, so never for a text that was not checked.
 */
export function shownText(text: string): string {
  let shown = text;
  for (const { start, end, masked } of writtenSecrets(text).toReversed())
    shown = `${shown.slice(0, start)}${JSON.stringify(masked)}${shown.slice(end)}`;
  return withoutKeysInComments(shown);
}

/** Marks of the library's lexer, which are no part of the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

export function withoutKeysInComments(text: string): string {
  const tokens = [...new Lexer().lex(text)].filter((token) => !MARKS.has(token));
  const parts = tokens.map((token) => (token.startsWith('#') && mayHoldKey(token) ? '# [masked]' : token));
  return parts.join('');
}

/** Long mixtures of letters and digits, as keys are and words are not. */
const MIXTURE = /(?=\w*\d)(?=\w*[A-Za-z])\w{20,}/;

const mayHoldKey = (comment: string): boolean =>
  MIXTURE.test(comment) || comment.split(/[\s"'`=:,;]+/).some(beginsAsKey);
