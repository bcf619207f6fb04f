import type { Conversation, Unsayable } from './conversation.ts';
import { type Losses, refuseParameter } from './losses.ts';
import type { Path } from './path.ts';
import type { TextProtocol } from './text-protocol.ts';

/** Collects, while decoding, what only the caller's own protocol can say. */
export class Unsaid {
  readonly list: Unsayable[] = [];

  drop(path: Path, reason: string): void {
    this.list.push({ path, loss: 'D', reason });
  }

  refuse(path: Path, reason: string): void {
    this.list.push({ path, loss: 'E', reason });
  }

  /** Reports those of these members that are present and not null. */
  dropPresent(
    object: { readonly [member: string]: unknown },
    members: readonly string[],
    at: Path,
    reason: string,
  ) {
    for (const member of members) {
      if (object[member] !== undefined && object[member] !== null) this.drop([...at, member], reason);
    }
  }
}

/** Applies what decoding found, once the protocols are known to differ. @throws GatewayError for class E */
export function reportUnsayable(conversation: Conversation, target: TextProtocol, losses: Losses): void {
  if (conversation.source === target) return;
  for (const { path, loss, reason } of conversation.unsayable) {
    if (loss === 'E') refuseParameter(path, reason);
    losses.drop(path, reason);
  }
}
