import { createHash } from 'node:crypto';
import type { Target } from '../target.ts';
import type { Conversation } from './conversation.ts';
import type { Losses } from './losses.ts';
import { SCALAR_PATHS } from './scalar-paths.ts';

/** The end-user id as the upstream may see it: not at all unless configured, and hashed where it is too long. */
export function encodeUserId(
  { userId, source }: Conversation,
  target: Target,
  lengthMax: number,
  losses: Losses,
): string | undefined {
  if (userId === undefined) return undefined;
  if (!target.forwardUserIds) {
    losses.drop(SCALAR_PATHS[source].userId, 'end-user ids are not shown to providers');
    return undefined;
  }
  return userId.length <= lengthMax ? userId : createHash('sha256').update(userId).digest('hex');
}
