/** What one caller may have. */
export interface ConversationSpace {
  /** Whose its new records are. */
  readonly owner: string;
  /** Whose records it may see. */
  readonly owners: readonly string[];
  /** What an owner may have in all, in bytes; 0: there is no bound. */
  readonly maxBytes: number;
  /** What one conversation may have, in bytes: a request is made of the whole of it. */
  readonly maxConversationBytes: number;
}
