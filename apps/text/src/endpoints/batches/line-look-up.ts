import { GatewayError } from '@gateway/contracts/gateway-error';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { BatchEnd, BatchProblem, BatchRecord } from '../../batches/batch-records.ts';
import type { LineJournal } from '../../batches/line-journal.ts';
import type { EndedLine, LineOutcome } from './line-outcomes.ts';
import type { OrderedResults } from './result-memory.ts';

/** Why a batch is over: `completed`, where all its lines have been begun. */
export interface EndReason {
  readonly status: BatchEnd['status'];
  readonly problems?: readonly BatchProblem[];
}

/** What is looked up of a line. */
interface NamedLine {
  readonly index: number;
  readonly customId: string;
}

/** What became of a line. It is held in memory until `written` is called. */
export interface LookedUp extends EndedLine {
  readonly written: () => void;
}

interface LookUpOptions {
  readonly journal: LineJournal;
  readonly reason: EndReason;
  /** Called in the order of the lines, so that their results are held in it. */
  readonly results: OrderedResults;
  readonly signal: AbortSignal;
}

/** Looks up what became of lines, when none of them is at work any more. */
export const lineLookUp =
  (
    { id: batchId }: BatchRecord,
    { journal, reason, results, signal }: LookUpOptions,
  ): ((line: NamedLine) => Promise<LookedUp>) =>
  async ({ index, customId }) => {
    const { hold, end } = results.turn();
    const known = { id: lineJobId(batchId, index), customId, written: end };
    try {
      const outcome =
        journal.end(index) === undefined
          ? unbegunOutcome(reason)
          : await journal.read(index, hold).catch((thrown: unknown): LineOutcome => {
              signal.throwIfAborted();
              const error = toGatewayError(thrown);
              // It is there, and has been paid for: it is read when its store is back.
              if (error.code === 'service_unavailable') throw error;
              return { type: 'errored', error };
            });
      if (outcome.type !== 'succeeded') end();
      return { ...known, outcome };
    } catch (error) {
      end();
      throw error;
    }
  };

/** Of a line that nobody has begun, and never will. */
function unbegunOutcome({ status, problems }: EndReason): LineOutcome {
  if (status === 'cancelled') return { type: 'canceled' };
  if (status === 'expired') return { type: 'expired' };
  const [first] = problems ?? [];
  const why = first === undefined ? '' : ` ${first.message}`;
  return {
    type: 'errored',
    error: new GatewayError('outcome_unknown', `The batch ended before this request was run.${why}`),
  };
}
