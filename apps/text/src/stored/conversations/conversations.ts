import type { Identity } from '@gateway/contracts/identity';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { ConversationStore } from './conversation-store.ts';

/** What one caller may have. */
export interface ConversationSpace {
  /** Whose it is: the key's. */
  readonly owner: string;
  /** In bytes; 0: there is no bound. */
  readonly maxBytes: number;
}

/** The conversations that the gateway keeps. */
export interface Conversations {
  readonly store: ConversationStore;
  /** Null where nothing is kept for this caller, or of this model. */
  spaceOf(identity: Identity, model: ResolvedModel | null): ConversationSpace | null;
}
