import type { Candidate } from '@gateway/upstream/candidate';
import { allDropped } from '../../large/dropped.ts';
import { inThread } from '../../large/in-thread.ts';
import { columnsInTurns, namedColumns } from '../../large/item-columns.ts';
import { bufferOf, isLarge, MAX_ITEMS_HERE, sharedBytes } from '../../large/shared-bytes.ts';
import type { Dropped } from '../../neutral/losses.ts';
import { makerAt, makerName } from '../../stored/origins/maker.ts';
import { conversationIn } from '../request/history.ts';
import { type TextCall, waitingFor } from '../request/text-call.ts';
import { contentOf, type TextRequest } from '../request/text-request.ts';
import { type EarlierItems, holdsCompactions, shownCount, wholeBody } from './whole-body.ts';

/**
 * A call for a channel that does not know the named ids: the whole conversation replaces them.
 *
 * @throws {GatewayError} if the conversation is gone
 */
export async function wholeCall(call: TextCall, candidate: Candidate): Promise<TextCall> {
  const { request, history } = call;
  const earlier: EarlierItems = {
    window: (await history.continued?.window()) ?? [],
    named: history.items,
    reader: candidate.protocol === 'responses' ? makerName(makerAt(candidate)) : null,
    isConversation: conversationIn(history) !== null,
  };
  const { window, named } = earlier;
  const inAll = request.bytes.length + history.bytes;
  const isMuch = request.large !== null || isLarge(inAll) || window.length + named.size > MAX_ITEMS_HERE;
  return { ...call, request: isMuch ? await largeWhole(call, earlier) : wholeRequest(request, earlier) };
}

function wholeRequest(request: TextRequest, earlier: EarlierItems): TextRequest {
  const dropped: Dropped[] = [];
  const take = () => {
    const whole = wholeBody(request.content.take(), earlier);
    dropped.splice(0, dropped.length, ...whole.dropped);
    return whole.body;
  };
  const compaction = compactionIn(request, holdsCompactions(earlier.window));
  return {
    ...request,
    compaction,
    content: { take, release: () => {} },
    rewritten: { dropped, keptItems: compaction === null ? 0 : shownCount(earlier) },
  };
}

async function largeWhole(call: TextCall, { window, named, ...earlier }: EarlierItems): Promise<TextRequest> {
  const { request } = call;
  const whole = await inThread(
    'whole',
    {
      bytes: sharedBytes(request.bytes),
      window: await columnsInTurns(window),
      named: await namedColumns(named),
      earlier,
    },
    waitingFor(call),
  );
  const bytes = bufferOf(whole.bytes);
  const compaction = compactionIn(request, whole.holdsCompactions);
  return {
    ...request,
    compaction,
    content: contentOf(bytes),
    large: { bytes, mayHoldTokens: true },
    rewritten: { dropped: allDropped(whole.dropped), keptItems: compaction === null ? 0 : whole.shownCount },
  };
}

const compactionIn = ({ compaction }: TextRequest, isHeld: boolean): TextRequest['compaction'] =>
  isHeld ? { order: compaction?.order ?? null, holdsCompactions: true } : compaction;
