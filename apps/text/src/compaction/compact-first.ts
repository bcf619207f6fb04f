import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import { type CallOutcome, failedWith, NONE_UNREAD } from '../call/accounting/outcome.ts';
import { type Answered, attemptCandidates } from '../call/attempts/attempt-candidates.ts';
import { unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { wholeCall } from '../call/history/whole-conversation.ts';
import { namesStored } from '../call/request/history.ts';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import { contentOf } from '../call/request/text-request.ts';
import { inThread } from '../large/in-thread.ts';
import { whenDone } from '../large/maybe-promise.ts';
import { estimateTokens } from '../neutral/estimate-tokens.ts';
import { refuseParameter } from '../neutral/losses.ts';
import { NO_USAGE } from '../wire/usage.ts';
import {
  type Compactable,
  compactableOf,
  readCompactable,
  type SealedConversation,
  sealingOf,
} from './compactable.ts';
import { compactsItself, openCompactions } from './open-compactions.ts';
import { prepareSummary, type Summary } from './prepare-summary.ts';

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
      outcome: { ...failedWith(thrown), candidate: null, attempts: [], unread: NONE_UNREAD, discarded: [] },
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
): Promise<Compactable | null> {
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
async function openedIfDue(call: TextCall, order: CompactionOrder): Promise<Compactable | null> {
  if (isForced(order)) return compactableOf(call);
  const { request, endpoint, model } = call;
  const bound = order.aboveTokens ?? defaultThreshold(model.contextWindow);
  if (request.large !== null) {
    const task = { caller: endpoint.protocol, bytes: request.large.bytes, tokens: tokensOf(call).key };
    return (await inThread('count', task, waitingFor(call))) > bound ? compactableOf(call) : null;
  }
  const opened = readCompactable(call);
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
  { opened, order, candidates, attempt }: CompactingAnswer & { readonly opened: Compactable },
): Promise<Answered> {
  const made: Pick<Compaction, 'summary' | 'sealed'>[] = [];
  const onSummary = async (summary: Summary) => {
    made.push({ summary, sealed: await opened.seal(sealingOf(call, order, summary.text)) });
    return { firstByteMs: null, end: () => undefined };
  };
  const outcome = await attemptCandidates(call, {
    candidates,
    prepare: (candidate) => prepareSummary(call, candidate, { conversation: opened, order, onSummary }),
    holdsStart: false,
  });
  const [compaction] = made;
  return compaction === undefined
    ? { call, outcome }
    : attempt(compactedCall(call, { ...compaction, outcome }));
}

interface Compaction {
  readonly sealed: SealedConversation;
  readonly summary: Summary;
  readonly outcome: CallOutcome;
}

/** The call with its summary instead of its conversation. */
function compactedCall(call: TextCall, { sealed, summary, outcome }: Compaction): TextCall {
  const { body, toolChanges } = sealed;
  const isLarge = Buffer.isBuffer(body);
  const content = isLarge ? contentOf(body) : { take: () => body, release: () => {} };
  const large = isLarge ? { bytes: body, mayHoldTokens: true } : null;
  return {
    ...call,
    request: { ...call.request, content, large, rewritten: { dropped: [] } },
    compacted: {
      summary: summary.text,
      encryptedContent: sealed.sealed,
      toolChanges,
      inputLength: isLarge ? body.length : JSON.stringify(body).length,
      spent: {
        usage: outcome.usage ?? NO_USAGE,
        estimated: outcome.estimated,
        discarded: outcome.discarded,
        candidate: summary.reply.candidate,
        attempts: outcome.attempts.length,
      },
    },
  };
}
