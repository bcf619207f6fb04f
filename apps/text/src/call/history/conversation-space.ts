import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import type { ConversationSpace } from '../../stored/stored-conversations.ts';
import type { OpaqueTokens } from '../../wire/tokens/opaque-token.ts';
import type { TextCall } from '../request/text-call.ts';

/** The owners whose records a key may see. New records of the key belong to the first. */
export function ownersOf(
  { keyId, team }: Pick<Identity, 'keyId' | 'team'>,
  { sharingTeams }: ConversationRules,
): readonly [string, ...string[]] {
  return team !== null && sharingTeams.includes(team) ? [`team:${team}`, keyId] : [keyId];
}

/** The tokens that a call's caller may bring and is given. */
export const tokensOf = ({ identity, services }: Pick<TextCall, 'identity' | 'services'>): OpaqueTokens =>
  services.tokens.ownedBy(ownersOf(identity, services.upstream.configuration.conversations));

/** Null: nothing is stored for this caller or this model. Without a model, only the caller counts. */
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
    owner: owners[0],
    owners,
    maxBytes: rules.maxBytesPerKey,
    maxConversationBytes: rules.maxChainBytes,
  };
}
