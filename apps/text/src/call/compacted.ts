import type { Usage } from '../wire/usage.ts';

/** A conversation that the gateway has compacted before it is answered. */
export interface Compacted {
  /** As the caller is shown it. */
  readonly summary: string;
  readonly encryptedContent: string;
  /** Messages: what it had changed of the request's tools. */
  readonly toolChanges: readonly unknown[];
  /** Of what is left of the request, in characters. */
  readonly inputLength: number;
  /** What the summary took, beside what the answer takes. */
  readonly spent: {
    readonly usage: Usage;
    readonly estimated: boolean;
    readonly channel: string;
    readonly attempts: number;
  };
}
