import type { Redaction } from '@gateway/contracts/content-log';
import { ownPattern } from '@gateway/upstream/configuration/own-pattern';
import { BUILT_IN, type FindSpans, type Span } from './built-in.ts';

/** Takes what its patterns find out of texts, and counts it. */
export interface Redactor {
  text(text: string): string;
  /** How often each pattern was found so far. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface Redacting {
  /** Names of patterns. */
  readonly redact: readonly string[];
  /** The operator's own, by name. */
  readonly patterns: Readonly<Record<string, string>>;
}

export function createRedactor({ redact, patterns }: Redacting): Redactor {
  const counts: Record<string, number> = {};
  const wanted = new Set(redact);
  // The operator's own go first: what they find is not taken apart by another.
  const own = Object.entries(patterns).flatMap(([name, source]) =>
    wanted.has(name) ? [[name, spansOf(source)] as const] : [],
  );
  const builtIn = ORDER.flatMap((name) => (wanted.has(name) ? [[name, BUILT_IN[name]] as const] : []));
  const all = [...own, ...builtIn];
  return {
    counts,
    text: (text) => {
      let shown = text;
      for (const [name, find] of all) {
        const { result, count } = replaced(shown, find(shown), `[${name}]`);
        if (count > 0) counts[name] = (counts[name] ?? 0) + count;
        shown = result;
      }
      return shown;
    },
  };
}

/** What holds others before what it may hold: a number of a card may look like one of a telephone. */
const ORDER: readonly Redaction[] = ['api-key', 'jwt', 'email', 'iban', 'card', 'ip', 'phone'];

function replaced(text: string, spans: Iterable<Span>, mark: string): { result: string; count: number } {
  const found = [...spans].toSorted(([one], [other]) => one - other);
  let result = '';
  let at = 0;
  let count = 0;
  for (const [start, end] of found) {
    if (start < at) {
      // It overlaps the one before: what it has beyond that goes with it.
      at = Math.max(at, end);
      continue;
    }
    result += text.slice(at, start) + mark;
    at = end;
    count += 1;
  }
  return { result: count === 0 ? text : result + text.slice(at), count };
}

function spansOf(source: string): FindSpans {
  const pattern = ownPattern(source);
  return function* (text) {
    const matcher = pattern.matcher(text);
    while (matcher.find()) if (matcher.end() > matcher.start()) yield [matcher.start(), matcher.end()];
  };
}
