import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import { type CallOutcome, failedWith } from '../call/accounting/outcome.ts';
import { type Answered, attemptCandidates } from '../call/attempts/attempt-candidates.ts';
import { unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { wholeCall } from '../call/history/whole-conversation.ts';
import { namesStored } from '../call/request/history.ts';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import { inThread } from '../large/in-thread.ts';
import { whenDone } from '../large/maybe-promise.ts';
import { estimateTokens } from '../neutral/estimate-tokens.ts';
import { refuseParameter } from '../neutral/losses.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { NO_USAGE } from '../wire/usage.ts';
import { compactsItself, openCompactions } from './open-compactions.ts';
import { type OpenedConversation, openedConversation } from './opened-conversation.ts';
import { prepareSummary, type Summary } from './prepare-summary.ts';
import { sealWindow, toolChangesIn } from './seal-window.ts';
import { shownItems, shownMessages } from './shown-window.ts';

interface CompactingAnswer {
  readonly order: CompactionOrder;
  /** Best first. */
  readonly candidates: readonly Candidate[];
  /** Has the call answered, as it is then. */
  readonly attempt: (call: TextCall) => Promise<Answered>;
}

/**
 * Has a call answered that wants its conversation compacted: where its best candidate does not do that itself, a summary is
 * made before. Never rejects.
 */
export async function compactFirst(
  call: TextCall,
  { order, candidates, attempt }: CompactingAnswer,
): Promise<Answered> {
  const [best] = candidates;
  if (best === undefined) return attempt(call);
  if (compactsItself(call, best)) return attempt(order.by === 'threshold' ? withoutOrder(call) : call);
  // Each candidate does it in its own way, and nothing follows.
  if (order.isAlone && isForced(order)) return attempt(call);
  try {
    const opened = await dueConversation(call, best, order);
    if (opened === null) return await attempt({ ...withoutOrder(call), compacted: null });
    if (order.isAlone) return await attempt(call);
    return await summarised(call, { opened, order, candidates, attempt });
  } catch (thrown) {
    return {
      call,
      outcome: { ...failedWith(thrown), candidate: null, attempts: [], overtaken: 0, discarded: [] },
    };
  }
}

const isForced = ({ aboveTokens }: CompactionOrder): boolean => aboveTokens === 0;

/** What a provider finds too short to compact it leaves as it is; so do those that cannot. */
function withoutOrder(call: TextCall): TextCall {
  const { compaction } = call.request;
  return compaction === null
    ? call
    : { ...call, request: { ...call.request, compaction: { ...compaction, order: null } } };
}

/**
 * The conversation of a call that is to be compacted now; null where it is short enough, or where its provider alone has it.
 *
 * @throws {GatewayError} where it cannot be compacted and has to be
 */
async function dueConversation(
  call: TextCall,
  best: Candidate,
  order: CompactionOrder,
): Promise<OpenedConversation | null> {
  const { history } = call;
  if (!history.isWhole) return isForced(order) ? refuseUnseen(call) : null;
  const whole = namesStored(call) ? await wholeCall(call, best) : call;
  const opened = await unlessRefusedLater(() =>
    whenDone(openCompactions({ ...whole, compacted: null }, best), (ready) => openedIfDue(ready, order)),
  );
  // Every candidate refuses it in its own terms.
  if (opened instanceof GatewayError) {
    if (isForced(order)) throw opened;
    return null;
  }
  return opened;
}

/** Null where it is short enough. A large one is counted in the thread, and opened here only where it has to be. */
async function openedIfDue(call: TextCall, order: CompactionOrder): Promise<OpenedConversation | null> {
  if (isForced(order)) return openedConversation(call);
  const { request, endpoint, model } = call;
  const bound = order.aboveTokens ?? defaultThreshold(model.contextWindow);
  if (request.large !== null) {
    const task = { caller: endpoint.protocol, bytes: request.large.bytes, tokens: tokensOf(call).key };
    return (await inThread('count', task, waitingFor(call))) > bound ? openedConversation(call) : null;
  }
  const opened = openedConversation(call);
  return (await estimateTokens(opened.conversation)) > bound ? opened : null;
}

/** A conversation is compacted before its model's context is full, where the request names no threshold. */
const CONTEXT_SHARE = 0.8;

const defaultThreshold = (contextWindow: number | null): number =>
  contextWindow === null ? Number.POSITIVE_INFINITY : contextWindow * CONTEXT_SHARE;

const refuseUnseen = ({ request }: TextCall): never =>
  refuseParameter(
    [...(request.ids.find(({ need }) => need === 'required')?.path ?? ['input'])],
    'What only the provider keeps cannot be compacted for this model. Send the conversation itself.',
  );

async function summarised(
  call: TextCall,
  { opened, order, candidates, attempt }: CompactingAnswer & { readonly opened: OpenedConversation },
): Promise<Answered> {
  const summaries: Summary[] = [];
  const { conversation } = opened;
  const onSummary = async (summary: Summary) => {
    summaries.push(summary);
    return { firstByteMs: null, end: () => undefined };
  };
  const outcome = await attemptCandidates(call, {
    candidates,
    prepare: (candidate) => prepareSummary(call, candidate, { conversation, order, onSummary }),
    holdsStart: false,
  });
  const [summary] = summaries;
  if (summary === undefined) return { call, outcome };
  return attempt(compactedCall(call, { opened, order, summary, outcome }));
}

interface Compaction {
  readonly opened: OpenedConversation;
  readonly order: CompactionOrder;
  readonly summary: Summary;
  readonly outcome: CallOutcome;
}

/** The call with its summary instead of its conversation. */
function compactedCall(call: TextCall, { opened, order, summary, outcome }: Compaction): TextCall {
  const { endpoint, request } = call;
  const { window, sealed } = sealWindow(call, {
    entries: opened.entries,
    order,
    summary: summary.text,
  });
  const isMessages = endpoint.protocol === 'messages';
  const body: JsonObject = isMessages
    ? { ...opened.body, messages: shownMessages(window) }
    : { ...opened.body, input: shownItems(window) };
  return {
    ...call,
    request: {
      ...request,
      content: { take: () => body, release: () => {} },
      large: null,
      rewritten: { dropped: [] },
    },
    compacted: {
      summary: summary.text,
      encryptedContent: sealed,
      toolChanges: isMessages ? toolChangesIn(opened.entries) : [],
      inputLength: JSON.stringify(body).length,
      spent: {
        usage: outcome.usage ?? NO_USAGE,
        estimated: outcome.estimated,
        discarded: outcome.discarded,
        channel: summary.reply.candidate.channel.name,
        attempts: outcome.attempts.length,
      },
    },
  };
}
