import type { GatewayError } from '@gateway/contracts/gateway-error';
import { soundUsage } from '@gateway/contracts/usage/sound-usage';
import { jobCancelled } from '@gateway/jobs/events/job-listener';
import { outcomeUnknown } from '@gateway/jobs/job-failure';
import { type JobEnding, type JobMetering, settlementOf } from '@gateway/jobs/job-metering';
import { unstarted } from '@gateway/jobs/queue/cancel-job';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import type { BatchRecord } from '../../batches/batch-records.ts';
import type { LineEnding, Settlement } from '../../batches/journal-entries.ts';
import type { LineJournal } from '../../batches/line-journal.ts';
import type { TextBatches } from './batch-service.ts';

type Settling = Pick<TextBatches, 'meter' | 'now' | 'onError'>;

/** What is put down of a line with this end. */
export function settlementFor({ onError }: Pick<TextBatches, 'onError'>, ending: JobEnding): Settlement {
  const { subject, estimate } = ending.metering;
  const { usage, wrong } = soundUsage(settlementOf(ending), estimate);
  if (wrong.length > 0)
    onError(new Error(`${subject.id}: no amounts in ${wrong.join(', ')}; charged as estimated`));
  return { subject, result: usage };
}

/** Keeps how a line has ended, and then puts down what it has used. @throws {JournalTaken} */
export async function endLine(
  { meter }: Pick<TextBatches, 'meter'>,
  journal: LineJournal,
  index: number,
  { ending, settlement }: { readonly ending: LineEnding; readonly settlement: Settlement | null },
): Promise<void> {
  await journal.finish(index, ending, settlement);
  if (settlement === null) return;
  await meter.settleOnce(settlement.subject, settlement.result);
  journal.settled(index);
}

/** Ends what the process before had under way: a line that it has begun may have been done, and is not repeated. @throws {JournalTaken} */
export async function endInterrupted(
  service: Settling & Pick<TextBatches, 'onLine'>,
  batchId: string,
  journal: LineJournal,
): Promise<void> {
  for (const [index, { subject, result }] of [...journal.unsettled]) {
    await service.meter.settleOnce(subject, result);
    journal.settled(index);
  }
  const error = outcomeUnknown();
  const interrupted = async (index: number, metering: JobMetering) => {
    const about = { metering, hasRun: true, consumed: undefined, error, nowMs: service.now() };
    const settlement = settlementFor(service, { ...about, consumedBefore: journal.usedBefore(index) });
    await endLine(service, journal, index, { ending: { type: 'errored', error }, settlement });
    const { subject, result: usage } = settlement;
    const times = { attempts: 1, queuedMs: 0, durationMs: 0 };
    service.onLine({ id: subject.id, batchId, subject, error, usage, ...times, trace: undefined });
  };
  await Promise.all([...journal.begunLines].map(([index, metering]) => interrupted(index, metering)));
}

/** Gives back what is reserved for lines that have been taken, and that nobody begins any more. */
export async function releaseUnbegun(
  { meter, now }: Pick<TextBatches, 'meter' | 'now'>,
  { id: batchId, keyId }: Pick<BatchRecord, 'id' | 'keyId'>,
  journal: LineJournal,
): Promise<void> {
  for (let index = 0; index < journal.reach; index += 1) {
    if (journal.end(index) !== undefined) continue;
    const settlement = triedBefore(journal, index, jobCancelled());
    if (settlement === null)
      await releaseReservation({ meter, now }, { keyId, id: lineJobId(batchId, index) });
    else await meter.settleOnce(settlement.subject, settlement.result);
  }
}

/** What is put down of a line that is not begun again, and ends by this error; null: it has used nothing. */
export function triedBefore(journal: LineJournal, index: number, error: GatewayError): Settlement | null {
  const tried = journal.tried(index);
  if (tried === undefined) return null;
  const { metering, used } = tried;
  return { subject: metering.subject, result: unstarted(metering, error, used) };
}

/** Gives back what is reserved for a line, if anything is. */
export const releaseReservation = (
  { meter, now }: Pick<TextBatches, 'meter' | 'now'>,
  { keyId, id }: { readonly keyId: string; readonly id: string },
): Promise<void> => {
  const about = { endpoint: 'batch', model: '', requestId: id, startedAtMs: now() } as const;
  return meter.resume({ id, keyId, team: null, ...about }).release();
};
