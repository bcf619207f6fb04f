import { createHash } from 'node:crypto';
import type { Conversation } from '../conversation.ts';
import type { Losses } from '../losses.ts';
import { pathsOf } from '../scalar-paths.ts';
import type { Target } from '../target.ts';

/** The end-user id as the upstream may see it: not at all unless configured, and hashed where it is too long. */
export function encodeUserId(
  conversation: Conversation,
  target: Target,
  maxLength: number,
  losses: Losses,
): string | undefined {
  const { userId } = conversation;
  if (userId === undefined) return undefined;
  if (!target.forwardUserIds) {
    losses.drop(pathsOf(conversation).userId, 'end-user ids are not shown to providers');
    return undefined;
  }
  return userId.length <= maxLength ? userId : createHash('sha256').update(userId).digest('hex');
}
