import type { UsageResult, UsageSubject } from '@gateway/contracts/usage-record';
import type { Usage } from '../wire/usage.ts';

/** What becomes known of a call's consumption on its way, for the record at its end. */
export interface Tally {
  /** Where the answer came from; null while no channel has begun to answer. */
  channel: string | null;
  attempts: number;
  firstByteMs: number | null;
  /** The upstream's own numbers, or our estimate of them; null while there are neither. */
  usage: Usage | null;
  estimated: boolean;
  /** What was reserved for the call; null where nothing is metered. */
  reserved: { readonly subject: UsageSubject; readonly estimate: UsageResult } | null;
  /** The id of a response that goes on without its caller, and is settled when it ends. */
  pending: string | null;
}

export const newTally = (): Tally => ({
  channel: null,
  attempts: 0,
  firstByteMs: null,
  usage: null,
  estimated: false,
  reserved: null,
  pending: null,
});
