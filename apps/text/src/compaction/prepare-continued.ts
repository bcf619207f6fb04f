import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import { prepareNamed } from '../call/attempts/prepare-named.ts';
import { type PrepareAttempt, unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { isPassed } from '../call/candidates/is-passed.ts';
import { knowsNamed, namesStored } from '../call/request/history.ts';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { whenDone } from '../large/maybe-promise.ts';
import { preparePassthrough } from '../passthrough/passthrough.ts';
import { prepareTranslation } from '../translation/translation.ts';
import { compactsItself, openCompactions } from './open-compactions.ts';
import { prepareCompaction } from './prepare-compaction.ts';

/** Prepares an attempt at a candidate for a call that continues what is kept, or holds what was compacted. */
export function prepareContinued(call: TextCall, candidate: Candidate): ReturnType<PrepareAttempt> {
  // What is summarised here has to be here.
  const isSummarised = namesStored(call) && compactionHere(call, candidate) !== null;
  return prepareNamed(call, candidate, prepareOne, knowsNamed(call, candidate) && !isSummarised);
}

function prepareOne(named: TextCall, candidate: Candidate): ReturnType<PrepareAttempt> {
  const opened = unlessRefusedLater(() => openCompactions(named, candidate));
  return whenDone(opened, (call) =>
    call instanceof GatewayError ? call : prepareOpened(named, call, candidate),
  );
}

function prepareOpened(named: TextCall, call: TextCall, candidate: Candidate): ReturnType<PrepareAttempt> {
  const order = compactionHere(call, candidate);
  if (order !== null) return prepareCompaction(call, candidate, order);
  if (!isPassed(call, candidate)) return prepareTranslation(call, candidate);
  // A channel of the caller's own protocol gets and gives the very bytes, and its threads: unless something was opened.
  return call === named
    ? preparePassthrough(call, candidate)
    : preparePassthrough(call, candidate, { isThreaded: false });
}

/** The order to answer with a compaction, for a candidate that cannot make it itself; null where there is none. */
function compactionHere(call: TextCall, candidate: Candidate): CompactionOrder | null {
  const order = call.request.compaction?.order ?? null;
  return order?.isAlone && !compactsItself(call, candidate) ? order : null;
}
