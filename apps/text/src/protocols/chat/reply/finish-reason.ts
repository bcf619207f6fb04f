import type { FinishReason } from '@gateway/contracts/finish-words';
import { endsAnswer, finishMeaning } from '@gateway/contracts/finish-words';
import { type Finish, fittingReason } from '../../../neutral/reply/reply.ts';
import { upstreamGaveUp } from '../../../wire/read-upstream.ts';

interface Seen {
  readonly calls: boolean;
  readonly refusal: boolean;
}

/** @throws {GatewayError} for a word by which the server says that it gave up */
export function decodeFinish(word: string | null | undefined, seen: Seen): Finish {
  const said = word && endsAnswer(word) ? word : null;
  const known = finishMeaning(said ?? 'stop');
  if (known === 'failed') throw upstreamGaveUp(word);
  const reason = known ?? 'stop';
  const unknown = known === undefined && said !== null ? { unknown: said } : {};
  const fitting = fittingReason(reason, seen);
  if (fitting !== 'stop') return { reason: fitting, ...unknown };
  return seen.refusal ? { reason: 'refusal', ...unknown } : { reason: fitting, ...unknown };
}

const FROM_NEUTRAL: Record<FinishReason, string> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'context-length': 'length',
  refusal: 'content_filter',
  pause: 'length',
  compaction: 'length',
};

/** A refusal in its own member is a normal stop; one that cuts a text off is a filter's. */
export const encodeFinish = ({ reason }: Finish, refusalIsShown: boolean): string =>
  reason === 'refusal' && refusalIsShown ? 'stop' : FROM_NEUTRAL[reason];
