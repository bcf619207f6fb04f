import { type OwnChanges, replaceOwnMembers, rewriteOwnBody } from '../passthrough/write-own-body.ts';
import { parseBody } from '../wire/raw-json.ts';
import { opaqueTokens, type TokenKey } from '../wire/tokens/opaque-token.ts';
import { type DroppedList, droppedList } from './dropped.ts';
import { bufferOf, sharedBytes, sharedText } from './shared-bytes.ts';

export interface OwnTask {
  readonly bytes: Uint8Array;
  readonly changes: OwnChanges;
  readonly tokens: TokenKey;
}

export interface RewrittenBody {
  readonly bytes: Uint8Array;
  readonly dropped: DroppedList;
}

/** Changes a body for a channel of its own protocol. @throws {GatewayError} as `rewriteOwnBody` */
export function ownTask({ bytes, changes, tokens }: OwnTask): RewrittenBody {
  const sent = bufferOf(bytes);
  const { rewriting } = changes;
  if (rewriting === null)
    return { bytes: sharedBytes(replaceOwnMembers(sent, changes)), dropped: droppedList([]) };
  const parsed = parseBody(sent.toString());
  const { body, dropped } = rewriteOwnBody(parsed, changes, rewriting, opaqueTokens(tokens));
  return { bytes: sharedText(body), dropped: droppedList(dropped) };
}
