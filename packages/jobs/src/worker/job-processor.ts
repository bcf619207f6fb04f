import type { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import type { ConsumedUsage, UsageSubject } from '@gateway/contracts/usage/usage-record';
import { JOBS, type JobInput, type JobOutput } from '../catalog.ts';
import type { FinishedJob } from './finished-job.ts';

/** What a running job may know and do. */
export interface JobContext {
  readonly jobId: string;
  readonly requestId: string;
  readonly keyId: string;
  /** Of this attempt at the job. Undefined where no traces are exported. */
  readonly trace?: RequestTrace | undefined;
  /** Null: none, or the job is not accounted. */
  readonly team: string | null;
  /** Who pays for it, and whom they have named. Undefined: the job is not accounted. */
  readonly subject?: UsageSubject | undefined;
  /** Its caller does not want it in the content log. */
  readonly contentLog?: 'off' | undefined;
  /** From 1; counts every begin, those of workers that died included. */
  readonly attempt: number;
  /** Aborted when the job is cancelled, has run too long, or the worker must stop. Its reason is thrown for the job. */
  readonly signal: AbortSignal;
  /**
   * Aborted before that when the worker has begun to stop. Work that takes longer than it waits then comes to a point from which another
   * worker goes on, and throws `WorkerStopping`.
   */
  readonly closing: AbortSignal;
  /**
   * Sends texts to those who follow the job, in order, such as whole events. A job that has emitted is not run again.
   *
   * @throws {Error} for a text of more than 8 M characters, or more than 100,000 texts
   */
  emit(...texts: string[]): Promise<void>;
  /**
   * Reports what has been consumed until now, so that it is charged however the job ends. The last report counts; null: nothing, since
   * no provider was called; undefined: nobody knows.
   */
  consumed(consumption: ConsumedUsage | null | undefined): void;
  /** Puts something into its usage record and its log line, whatever it consumes and however it ends. */
  noted(detail: UsageDetail): void;
  /** Whether the job is tried again after this attempt has failed in this way. */
  isTriedAgain(thrown: unknown): boolean;
  /**
   * Accounts for the job by what it has consumed, before its processor lets anybody know how it ended: what limits and
   * budgets get back, a reader of its end may need at once. Its end accounts for it otherwise.
   */
  account(error?: GatewayError): Promise<void>;
  /**
   * While the work waits for somebody outside it does not count with its key's jobs at work, so that the next one begins; as far as the
   * catalog lets jobs do so.
   */
  aside<Result>(wait: () => Promise<Result>): Promise<Result>;
}

/** How a kind of job is done. */
export interface JobProcessor<Kind extends JobKind> {
  /** @throws {GatewayError} which the caller gets; anything else is shown as `internal` */
  run(input: JobInput<Kind>, context: JobContext): Promise<JobOutput<Kind>>;
  /**
   * For paid work that a worker began and did not end: its output, if that was stored before the worker died.
   * Without one the job ends as `outcome_unknown`.
   */
  recover?(
    input: JobInput<Kind>,
    context: Pick<JobContext, 'jobId' | 'consumed'>,
  ): Promise<JobOutput<Kind> | undefined>;
  /** What this job may hold in memory at most. Absent or undefined: as the catalog estimates. */
  bytesOf?(input: JobInput<Kind>): number | undefined;
  /** For the same, where `recover` found nothing: whether the worker certainly died before it called a provider, so that it is run. */
  hasNotBegun?(jobId: string): Promise<boolean>;
  /** Called when a job has ended for good, also because its workers died; by one worker that is there then. */
  ended?(job: FinishedJob): Promise<void>;
}

export type JobProcessors<Kinds extends JobKind = JobKind> = {
  readonly [Kind in Kinds]?: JobProcessor<Kind>;
};

/** The processors of each queue: a worker serves one. */
export function processorsByQueue(processors: JobProcessors): JobProcessors[] {
  const kinds = JobKind.options.filter((kind) => processors[kind] !== undefined);
  const queues = Map.groupBy(kinds, (kind) => JOBS[kind].queue);
  return [...queues.values()].map((own) =>
    own.reduce<JobProcessors>((all, kind) => Object.assign(all, { [kind]: processors[kind] }), {}),
  );
}
