import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/model-pattern';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import { ownersOf } from './history.ts';

/** What one caller may have. */
export interface ConversationSpace {
  /** Whose its new records are. */
  readonly owner: string;
  /** Whose records it may see. */
  readonly owners: readonly string[];
  /** What an owner may have in all, in bytes; 0: there is no bound. */
  readonly maxBytes: number;
}

/** Null where nothing is kept for this caller, or of this model; no model: whichever is used later. */
export function spaceOf(
  identity: Identity,
  model: string | null,
  rules: ConversationRules,
): ConversationSpace | null {
  const { keys, models } = rules.neverKept;
  const isNever =
    keys.includes(identity.keyId) ||
    (model !== null && models.some((pattern) => fitsPattern(pattern, model)));
  if (isNever) return null;
  const owners = ownersOf(identity, rules);
  return { owner: owners[0] ?? identity.keyId, owners, maxBytes: rules.maxBytesPerKey };
}
