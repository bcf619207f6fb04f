import { createHash } from 'node:crypto';
import type { Quirks } from '@gateway/contracts/quirks';

/** What every protocol takes as the id of a tool call. */
const PORTABLE_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Ids of one answer's tool calls: the upstream's own where it is usable and new, else a minted one. Some servers count the
 * calls of each answer from 0; agents pair calls and results of a whole conversation by their ids alone.
 */
export class CallIds {
  readonly #seen: Set<string>;
  readonly #mint: () => string;

  /** @param used the ids of the calls before the answer */
  constructor(mint: () => string, used: Iterable<string> = []) {
    this.#mint = mint;
    this.#seen = new Set(used);
  }

  take(upstreamId: string): string {
    const id = PORTABLE_ID.test(upstreamId) && !this.#seen.has(upstreamId) ? upstreamId : this.#mint();
    this.#seen.add(id);
    return id;
  }
}

const digest = (id: string): string => createHash('sha256').update(id).digest('hex');

/** A call id from the history as the upstream takes it. Call and result map alike, since the same text gives the same id. */
export const historyCallId = (id: string, form: Quirks['toolCallIds'] = 'any'): string => {
  if (form === 'nine-alphanumeric') return /^[a-zA-Z0-9]{9}$/.test(id) ? id : digest(id).slice(0, 9);
  return PORTABLE_ID.test(id) ? id : `call_${digest(id).slice(0, 32)}`;
};
