import type { JobKind } from '@gateway/contracts/jobs';
import type { Queue } from 'bullmq';
import { JOBS, type JobInput } from '../catalog.ts';
import { type JobFiles, storeInput } from '../files/job-files.ts';
import { type JobEnvelope, uploadsOf } from '../job-envelope.ts';
import { toJobError } from '../job-failure.ts';
import type { JobMetering, SettleJob } from '../job-metering.ts';
import { newJobId } from '../redis/job-keys.ts';
import type { JobTurns } from '../turns/job-turns.ts';
import { type Cancelled, unstarted } from './cancel-job.ts';
import { jobAttributes } from './job-attributes.ts';
import type { JobOwner } from './job-owner.ts';
import { unlessAway } from './queue-errors.ts';
import type { QueueSlot, QueueSlots } from './queue-slots.ts';
import { type JobToStore, storeJob } from './store-job.ts';

interface StoringOptions {
  readonly queueOf: (kind: JobKind) => Queue;
  readonly turns: JobTurns;
  readonly slots: Pick<QueueSlots, 'used'>;
  readonly files: JobFiles;
  readonly settle: SettleJob | undefined;
  /** Resolves to whether the job was there. It waits for a Redis that is away. */
  readonly cancel: (kind: JobKind, id: string) => Promise<Cancelled>;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/** Puts new jobs into their queues. Whatever goes wrong, what was reserved for a job is settled. */
export function createJobStoring(options: StoringOptions) {
  const { queueOf, turns, slots, files, settle, cancel, now, onError } = options;
  const { uploads } = files;

  const neverStarted = async (metering: JobMetering | undefined, error: unknown) => {
    if (metering) await settle?.(metering.subject, unstarted(metering, toJobError(error)));
  };

  /** Accounts for a job that could not be stored. */
  const refusing =
    ({ metering }: JobOwner) =>
    (error: unknown): never => {
      neverStarted(metering, error).catch(onError);
      throw error;
    };

  return {
    refusing,

    /** A job whose files are stored. @throws {GatewayError} `storage_full`, `service_unavailable` */
    prepare: async <Kind extends JobKind>(
      kind: Kind,
      input: JobInput<Kind>,
      owner: JobOwner,
      slot: QueueSlot,
    ): Promise<JobToStore> => {
      const { keyId, requestId, metering, share, isDetached = false } = owner;
      const { claim, webhook, batchId, contentLog } = owner;
      // A batch may have more lines than a trace can show.
      const trace = batchId === undefined ? owner.trace?.child('producer') : owner.trace?.linked('producer');
      const checked = JOBS[kind].input.parse(input);
      const uploadIds = uploadsOf(kind, checked);
      const inputId = await uploads
        .share(uploadIds)
        .then(() => storeInput(files, checked))
        .catch(refusing(owner));
      const envelope: JobEnvelope = {
        keyId,
        requestId,
        model: input.model,
        inputId,
        uploads: [inputId, ...uploadIds],
        marksBegin: true,
        ...(isDetached && { isDetached }),
        ...(claim && { claim }),
        ...(webhook && { webhook }),
        ...(batchId && { batchId }),
        ...(contentLog && { contentLog }),
        ...(metering && { metering }),
        ...(share && { share }),
        ...(trace && { traceparent: trace.traceparent }),
      };
      const id = metering?.subject.id ?? owner.id ?? newJobId();
      return { id, kind, envelope, slotId: slot.id, createdAtMs: now(), trace };
    },

    /** Stores it, and what `beside` does at the same time. @throws {GatewayError} `service_unavailable` */
    store: async (job: JobToStore, beside: () => Promise<unknown>): Promise<void> => {
      const { id, kind, envelope, slotId, trace } = job;
      const written = (isFailed: boolean) =>
        trace?.write({
          name: `enqueue ${kind}`,
          isFailed,
          attributes: { ...jobAttributes({ id, kind, envelope }), 'messaging.operation.type': 'send' },
        });
      try {
        await unlessAway(Promise.all([beside(), storeJob({ queue: queueOf(kind), turns }, job)]));
        slots.used(slotId);
        written(false);
      } catch (error) {
        written(true);
        const removed = () =>
          Promise.all([neverStarted(envelope.metering, error), uploads.delete(envelope.inputId)]);
        // A command that timed out may have been carried out all the same.
        cancel(kind, id)
          .then((cancelled) => (cancelled === 'unknown' ? removed() : undefined))
          .catch(onError);
        throw error;
      }
    },
  };
}
