import { isScalar, parseDocument, visit } from 'yaml';
import { variablesIn } from '../expand-variables.ts';
import { MASKS } from '../masked-configuration.ts';
import { pathOf } from '../yaml-document.ts';
import { withoutKeysInComments, writtenSecrets } from './shown-text.ts';

/** A text whose secrets became variables. */
export interface SealableText {
  readonly text: string;
  /** What was written there, by the names of the variables. */
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * Takes the secrets out of a text without mistakes: each becomes a variable, named after where it stands. Comments that may hold
 * one are dropped.
 */
export function takeSecrets(text: string): SealableText {
  const taken = new Set(variablesIn(text));
  const secrets: Record<string, string> = {};
  let sealed = text;
  for (const { path, value, start, end } of writtenSecrets(text).toReversed()) {
    const name = freeName(path.map(String), taken);
    taken.add(name);
    secrets[name] = value;
    sealed = `${sealed.slice(0, start)}${JSON.stringify(`\${${name}}`)}${sealed.slice(end)}`;
  }
  return { text: withoutKeysInComments(sealed), secrets };
}

/** Whether something that was shown masked stands in a text as if it were the secret. */
export function hasMasked(text: string): boolean {
  const value: unknown = parseDocument(text, { uniqueKeys: false, logLevel: 'error' }).toJS();
  return MASKS.some((mask) => JSON.stringify(value).includes(mask));
}

/** A draft with the secrets of a text without mistakes, where it shows them masked at the same place. */
export function unmasked(draft: string, base: string): string {
  const secrets = new Map(writtenSecrets(base).map((secret) => [JSON.stringify(secret.path), secret]));
  const found: { start: number; end: number; value: string }[] = [];
  visit(parseDocument(draft, { merge: false, uniqueKeys: false, logLevel: 'error' }), {
    Scalar: (key, node, parents) => {
      if (key === 'key' || !isScalar(node) || node.range == null) return;
      const secret = secrets.get(JSON.stringify(pathOf(parents, node)));
      const [start, end] = node.range;
      if (secret !== undefined && secret.masked === node.value)
        found.push({ start, end, value: secret.value });
    },
  });
  let text = draft;
  for (const { start, end, value } of found.toReversed())
    text = `${text.slice(0, start)}${JSON.stringify(value)}${text.slice(end)}`;
  return text;
}

function freeName(path: readonly string[], taken: ReadonlySet<string>): string {
  const base = ['SEALED', ...path.slice(1)]
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_');
  let name = base;
  for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}`;
  return name;
}
