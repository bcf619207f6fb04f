import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

/** Compiles to a pattern that takes linear time, whatever it is given. Loaded where there is a pattern. */
const load = createRequire(import.meta.url);
const isLibrary = (module: unknown): module is { RE2JS: typeof RE2JS } =>
  typeof module === 'object' && module !== null && 'RE2JS' in module;

/**
 * A regular expression of the operator's, in the syntax of RE2.
 *
 * @throws {Error} for one that RE2 does not take: with a reference to what it matched before, or with a look around
 */
export function ownPattern(source: string): RE2JS {
  const library: unknown = load('re2js');
  if (!isLibrary(library)) throw new Error('re2js has another form');
  return library.RE2JS.compile(source);
}
