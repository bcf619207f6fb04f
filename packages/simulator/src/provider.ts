import type { Ids } from './ids.ts';
import type { FileStore } from './images/file-store.ts';
import type { Ledger } from './ledger.ts';
import type { ThreadStore } from './messages/thread-store.ts';
import type { ConversationStore } from './responses/conversation-store.ts';
import type { ResponseStore } from './responses/response-store.ts';

/** The shared state of one simulated provider's endpoints. */
export interface Provider {
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly threads: ThreadStore;
  readonly files: FileStore;
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
