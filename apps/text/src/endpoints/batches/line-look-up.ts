import { GatewayError } from '@gateway/contracts/gateway-error';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { endOfLine } from '@gateway/model-service/batch/run-batch';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { BatchEnd, BatchProblem, BatchRecord } from '../../batches/batch-records.ts';
import type { TextBatchService, TextJob } from './batch-service.ts';
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

/** A line that has ended. Its result is held in memory until `written` is called. */
export interface LookedUp extends EndedLine {
  readonly hasBegun: boolean;
  readonly written: () => void;
}

interface LookUpOptions {
  readonly reason: EndReason;
  /** Called in the order of the lines, so that their results are held in it. */
  readonly results: OrderedResults;
  readonly signal: AbortSignal;
}

/** Looks up what became of lines, once they have ended. */
export const lineLookUp =
  (
    { queue }: TextBatchService,
    batch: BatchRecord,
    { reason, results, signal }: LookUpOptions,
  ): ((line: NamedLine) => Promise<LookedUp>) =>
  async ({ index, customId }) => {
    const { hold, end } = results.turn();
    try {
      const id = lineJobId(batch.id, index);
      const context = { keyId: batch.keyId, signal };
      const line = { kind: 'text.line', lineId: id, context } as const;
      const record = await endOfLine<TextJob, 'text.batch'>({ queue }, line);
      const known = { id, customId, written: end };
      if (record === undefined) return { ...known, outcome: unbegunOutcome(reason), hasBegun: false };
      const { status, error } = record;
      if (status === 'cancelled') return { ...known, outcome: { type: 'canceled' }, hasBegun: false };
      const outcome: LineOutcome =
        error === null
          ? await queue.outputOf('text.line', id, hold).then(
              (output) => ({ type: 'succeeded', output }),
              (thrown: unknown) => {
                signal.throwIfAborted();
                // It is there, and has been paid for: it is read when its store is back.
                const away = awayIn(thrown);
                if (away !== undefined) throw away;
                return { type: 'errored', error: toGatewayError(thrown) };
              },
            )
          : { type: 'errored', error: GatewayError.deserialize(error) };
      if (outcome.type !== 'succeeded') end();
      return { ...known, outcome, hasBegun: true };
    } catch (error) {
      end();
      throw error;
    }
  };

/** That a store could not be reached, where an error came from that. */
function awayIn(error: unknown): GatewayError | undefined {
  if (!(error instanceof Error)) return undefined;
  const isAway = error instanceof GatewayError && error.code === 'service_unavailable';
  return isAway ? error : awayIn(error.cause);
}

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
