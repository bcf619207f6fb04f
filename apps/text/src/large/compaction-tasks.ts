import { conversationOf, openedConversation } from '../compaction/opened-conversation.ts';
import {
  type BesideMembers,
  besideWindow,
  type Sealing,
  sealWindow,
  toolChangesIn,
  withWindow,
} from '../compaction/seal-window.ts';
import { type SummaryWanted, writeSummaryRequest } from '../compaction/summary-request.ts';
import type { AnswerPlan } from '../neutral/target.ts';
import { echoOf, shortEcho } from '../protocols/responses/reply/response-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { compactionSeals } from '../wire/tokens/compaction-seal.ts';
import { opaqueTokens, type TokenKey } from '../wire/tokens/opaque-token.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/** A request whose conversation is compacted, with nothing sealed in it. */
interface OpenedBody {
  readonly protocol: TextProtocol;
  readonly bytes: Uint8Array;
}

const openedIn = ({ protocol, bytes }: OpenedBody) =>
  openedConversation(protocol, parseBody(bufferOf(bytes).toString()));

export interface SummaryTask extends OpenedBody {
  readonly wanted: SummaryWanted;
  readonly tokens: TokenKey;
}

export interface WrittenSummary {
  readonly bytes: Uint8Array;
  readonly plan: AnswerPlan;
}

/** Writes the request for a summary. @throws {GatewayError} as `writeSummaryRequest` */
export function summaryTask({ wanted, tokens: key, ...opened }: SummaryTask): WrittenSummary {
  const tokens = opaqueTokens(key);
  const { body, plan } = writeSummaryRequest(conversationOf(openedIn(opened), tokens), wanted, tokens);
  // Its answer is read for its text alone.
  return { bytes: sharedText(JSON.stringify(body)), plan: { ...plan, echo: {} } };
}

export interface SealTask extends OpenedBody {
  readonly sealing: Sealing;
  /** Of the seals. */
  readonly key: Uint8Array;
}

/** A sealed window, and the request with it instead of its conversation. Lists and objects are JSON. */
export interface WrittenWindow {
  readonly sealed: string;
  readonly toolChanges: string;
  readonly echo: string;
  readonly bytes: Uint8Array;
}

/** Seals the window that replaces a conversation. */
export function sealTask({ sealing, key, ...body }: SealTask): WrittenWindow {
  const opened = openedIn(body);
  const { window, sealed } = sealWindow(opened, sealing, compactionSeals(key));
  return {
    sealed,
    toolChanges: JSON.stringify(toolChangesIn(opened)),
    echo: JSON.stringify(shortEcho(echoOf(opened.body))),
    bytes: sharedText(JSON.stringify(withWindow(opened, window))),
  };
}

export interface BesideTask extends SealTask {
  readonly members: BesideMembers;
}

/** Writes the answer that shows the window beside the user's messages. */
export function besideTask({ sealing, key, members, ...body }: BesideTask): Uint8Array {
  const opened = openedIn(body);
  const { sealed } = sealWindow(opened, sealing, compactionSeals(key));
  return sharedText(JSON.stringify(besideWindow(opened, sealed, members)));
}
