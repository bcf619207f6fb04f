import type { ContentReader } from './content-log-entry.ts';

/** Which requests are logged, and what is taken out of their texts. All that it names must fit; the first rule that fits counts. */
export interface ContentRule {
  /** Null: all, as for the others. Keys by their ids. */
  readonly keys: readonly string[] | null;
  readonly teams: readonly string[] | null;
  /** Names, and patterns with `*`. */
  readonly models: readonly string[] | null;
  /** Of those requests, from 0 to 1. */
  readonly share: number;
  /** Names of patterns, built in or the operator's own. */
  readonly redact: readonly string[];
  /** Whether a caller can keep a request out of the log. */
  readonly mayOptOut: boolean;
}

export interface ContentLogSettings {
  readonly retentionMs: number;
  /** Of a request's content, and of its answer's: the rest is cut. */
  readonly maxBytes: number;
  /** The operator's own patterns, by name, in the syntax of RE2. */
  readonly patterns: Readonly<Record<string, string>>;
  /** The roles that may read it in the console, beside `admin`. */
  readonly readers: readonly ContentReader[];
  readonly rules: readonly ContentRule[];
}
