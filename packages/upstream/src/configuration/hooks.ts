import type { ChannelSecrets } from './channel-secrets.ts';
import type { HookEntry, HookKind } from './hooks-entry.ts';

/** Which requests a hook checks. All that it names must fit. */
export interface HookRule {
  /** Null: all, as for the others. Keys by their ids. */
  readonly keys: readonly string[] | null;
  readonly teams: readonly string[] | null;
  /** Names, and patterns with `*`. */
  readonly models: readonly string[] | null;
}

/** A server that checks the texts of requests and answers. Safe to log: `secrets` shows nothing. */
export interface HookSettings {
  readonly name: string;
  readonly kind: HookKind;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Where checks are sent, with the full path. */
  readonly path: string;
  /** Its headers, or where its credentials come from. */
  readonly secrets: ChannelSecrets;
  readonly input: NonNullable<HookEntry['input']>;
  readonly output: NonNullable<HookEntry['output']>;
  /** How many characters of a stream are held before they are checked, and how many of them stay held for the next window. */
  readonly windowChars: number;
  readonly overlapChars: number;
  readonly timeoutMs: number;
  /** What becomes of a request whose check fails. */
  readonly onFailure: 'block' | 'pass';
  /** More characters than that are not sent: such a check fails. */
  readonly maxChars: number;
  /** One of them must fit; null: it checks every request. */
  readonly rules: readonly HookRule[] | null;
  readonly include: NonNullable<HookEntry['include']>;
  readonly params: NonNullable<HookEntry['params']>;
  readonly model: string;
}
