import { tokensOf } from '../call/history/conversation-space.ts';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import type { LargeBody } from '../call/request/text-request.ts';
import { inThread } from '../large/in-thread.ts';
import type { MaybePromise } from '../large/maybe-promise.ts';
import { bufferOf } from '../large/shared-bytes.ts';
import type { Conversation } from '../neutral/conversation.ts';
import type { AnswerPlan } from '../neutral/target.ts';
import { echoOf } from '../protocols/responses/reply/response-object.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { conversationOf, openedConversation } from './opened-conversation.ts';
import {
  type BesideMembers,
  besideWindow,
  type Sealing,
  sealWindow,
  toolChangesIn,
  withWindow,
} from './seal-window.ts';
import { type SummaryWanted, writeSummaryRequest } from './summary-request.ts';

/** The conversation of a call that is to be compacted. A large one is read and written in the thread. */
export interface Compactable {
  /** The request for its summary. @throws {GatewayError} as `writeSummaryRequest` */
  summaryRequest(wanted: SummaryWanted): MaybePromise<SummaryRequest>;
  /** Replaces it by a window. */
  seal(sealing: Sealing): MaybePromise<SealedConversation>;
  /** The answer that shows the window beside the user's messages. */
  beside(sealing: Sealing, members: BesideMembers): MaybePromise<JsonObject | Buffer>;
}

interface SummaryRequest {
  readonly body: string | Buffer;
  readonly plan: AnswerPlan;
}

export interface SealedConversation {
  /** As its caller gets it. */
  readonly sealed: string;
  /** What the conversation had changed of the tools of its requests. */
  readonly toolChanges: readonly unknown[];
  /** The members of a Responses request that its response repeats. */
  readonly echo: JsonObject;
  /** The request with the window. */
  readonly body: JsonObject | Buffer;
}

/** How a call's conversation is replaced by a summary. */
export const sealingOf = (
  { endpoint, history }: TextCall,
  { aboveTokens }: CompactionOrder,
  summary: string,
): Sealing => ({
  summary,
  isBeside: endpoint.operation === 'responses.compact',
  aboveTokens,
  owner: history.owner,
});

/** An ordinary conversation, which has been read. */
export interface ReadCompactable extends Compactable {
  readonly conversation: Conversation;
}

/** @throws {GatewayError} for an ordinary one, as `conversationOf` */
export const compactableOf = (call: TextCall): Compactable =>
  call.request.large === null ? readCompactable(call) : largeCompactable(call, call.request.large);

/** @throws {GatewayError} as `conversationOf` */
export function readCompactable({ endpoint, request, services, ...call }: TextCall): ReadCompactable {
  const tokens = tokensOf({ services, ...call });
  const opened = openedConversation(endpoint.protocol, request.content.take());
  const conversation = conversationOf(opened, tokens);
  return {
    conversation,
    summaryRequest: (wanted) => {
      const { body, plan } = writeSummaryRequest(conversation, wanted, tokens);
      return { body: JSON.stringify(body), plan };
    },
    seal: (sealing) => {
      const { window, sealed } = sealWindow(opened, sealing, services.compactions);
      const [toolChanges, echo] = [toolChangesIn(opened), echoOf(opened.body)];
      return { sealed, toolChanges, echo, body: withWindow(opened, window) };
    },
    beside: (sealing, members) =>
      besideWindow(opened, sealWindow(opened, sealing, services.compactions).sealed, members),
  };
}

function largeCompactable(call: TextCall, { bytes }: LargeBody): Compactable {
  const body = { protocol: call.endpoint.protocol, bytes };
  const { key } = call.services.compactions;
  const waiting = waitingFor(call);
  return {
    summaryRequest: async (wanted) => {
      const task = { ...body, wanted, tokens: tokensOf(call).key };
      const { bytes: written, plan } = await inThread('summary', task, waiting);
      return { body: bufferOf(written), plan };
    },
    seal: async (sealing) => {
      const {
        sealed,
        toolChanges,
        echo,
        bytes: written,
      } = await inThread('seal', { ...body, sealing, key }, waiting);
      const changes = parseBody(toolChanges);
      return {
        sealed,
        toolChanges: Array.isArray(changes) ? changes : [],
        echo: objectOf(parseBody(echo)),
        body: bufferOf(written),
      };
    },
    beside: async (sealing, members) =>
      bufferOf(await inThread('beside', { ...body, sealing, key, members }, waiting)),
  };
}
