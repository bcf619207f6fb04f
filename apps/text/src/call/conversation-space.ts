import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import type { ConversationSpace } from '../conversations/conversation-space.ts';

/** Whose records a key may see, its own new ones being the first's. */
export function ownersOf(
  { keyId, team }: Pick<Identity, 'keyId' | 'team'>,
  { sharingTeams }: ConversationRules,
): readonly string[] {
  return team !== null && sharingTeams.includes(team) ? [`team:${team}`, keyId] : [keyId];
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
  return {
    owner: owners[0] ?? identity.keyId,
    owners,
    maxBytes: rules.maxBytesPerKey,
    maxConversationBytes: rules.maxChainBytes,
  };
}
