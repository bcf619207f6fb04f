import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ZodType } from 'zod';
import type { Waiter } from '../events/job-listener.ts';
import { toJobError } from '../job-failure.ts';
import type { Delivery } from '../results/kept-results.ts';
import { leaving, waitedTooLong } from './queue-errors.ts';

/** A job that somebody in this process waits for. */
export interface JobHandle<Output> {
  /** `job_…` */
  readonly id: string;
  /** What the job emits while it runs, in order; ends with the job. For one reader. */
  readonly events: AsyncIterable<string>;
  /**
   * The job's output. When the signal aborts, the signal's reason is thrown, and the job cancelled unless it is detached.
   *
   * @throws {GatewayError} the job's own failure, `job_cancelled`, `outcome_unknown`, or `service_timeout`
   */
  result(signal: AbortSignal): Promise<Output>;
  /** Call it when the caller has got the result: it is kept for a shorter time from then on. */
  delivered(how: Delivery): void;
  /** Waits no longer; the job goes on. */
  leave(): void;
  /** Takes a queued job out of the line and stops a running one, in whatever process it runs. Does nothing to an ended one. */
  cancel(): Promise<void>;
}

interface HandleOptions<Output> {
  readonly id: string;
  readonly waiter: Waiter;
  readonly spec: { readonly waitLimitMs: number; readonly output: ZodType<Output> };
  readonly isDetached: boolean;
  readonly cancel: () => Promise<unknown>;
  readonly delivered: (how: Delivery) => void;
  readonly onError: (error: unknown) => void;
}

export function openHandle<Output>(options: HandleOptions<Output>): JobHandle<Output> {
  const { id, waiter, spec, isDetached, cancel, delivered, onError } = options;
  const endWaiting = (error: GatewayError) => {
    waiter.settle({ error });
    if (!isDetached) cancel().catch(onError);
  };
  const timer = setTimeout(() => endWaiting(isDetached ? stillRunning() : waitedTooLong()), spec.waitLimitMs);
  const settled = () => clearTimeout(timer);
  waiter.outcome.then(settled, settled);
  return {
    id,
    events: waiter.texts,
    delivered,
    leave: () => waiter.settle({ error: leaving(undefined) }),
    cancel: async () => void (await cancel()),
    result: async (signal) => {
      const leave = () => endWaiting(leaving(signal.reason));
      if (signal.aborted) leave();
      signal.addEventListener('abort', leave, { once: true });
      try {
        return outputAs(spec.output, await waiter.outcome);
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
  };
}

/** A finished job with a broken output is our mistake, and its work has been paid for. */
function outputAs<Output>(schema: ZodType<Output>, output: unknown): Output {
  const parsed = schema.safeParse(output);
  if (parsed.success) return parsed.data;
  throw toJobError(parsed.error);
}

const RETRY_AFTER_SECONDS = 5;

const stillRunning = (): GatewayError =>
  new GatewayError('service_timeout', {
    message:
      'The job is not done yet and continues. Send the request again with the same Idempotency-Key, or poll the job.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
