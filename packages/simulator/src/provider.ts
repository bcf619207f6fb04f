import { randomBytes } from 'node:crypto';
import type { BatchStore } from './batches/batch-store.ts';
import type { FileStore } from './images/file-store.ts';
import type { Ledger } from './ledger.ts';
import type { ThreadStore } from './messages/thread-store.ts';
import type { ConversationStore } from './responses/conversation-store.ts';
import type { ResponseStore } from './responses/response-store.ts';

/** Makes ids that are unique over restarts and, for a fixed seed, the same in every run. */
export interface Ids {
  /** `resp_` and 40 hexadecimal digits, for example. */
  next(prefix: string): string;
}

export const createIds = (seed: string = randomBytes(12).toString('hex')): Ids => {
  let count = 0;
  return {
    next: (prefix) => {
      count += 1;
      return `${prefix}${seed.padStart(24, '0')}${count.toString(16).padStart(16, '0')}`;
    },
  };
};

/** The shared state of one simulated provider's endpoints. */
export interface Provider {
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly threads: ThreadStore;
  readonly files: FileStore;
  readonly batches: BatchStore;
  /** Keys that are accepted; null accepts every key. */
  readonly apiKeys: readonly string[] | null;
  /** Refuses members that the protocol does not have, as the real providers do. */
  readonly refusesUnknown: boolean;
  /** Two providers with different secrets refuse each other's signatures. */
  readonly signatureSecret: string;
  /** Root of the URLs that it returns, without `/v1`. */
  url(): string;
  nowSeconds(): number;
}
