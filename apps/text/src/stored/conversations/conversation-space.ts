import type { Identity } from '@gateway/contracts/identity';

/** What one caller may have. */
export interface ConversationSpace {
  /** Whose records the caller may see; its own new ones are the first's. */
  readonly owners: readonly [string, ...string[]];
  /** What an owner may have in all, in bytes; 0: there is no bound. */
  readonly maxBytes: number;
}

/** Null where nothing is kept for this caller, or of this model. */
export const spaceOf = ({ keyId }: Identity, _model: string | null): ConversationSpace | null => ({
  owners: [keyId],
  maxBytes: 0,
});
