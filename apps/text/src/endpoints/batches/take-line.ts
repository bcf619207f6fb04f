import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity, JobShare } from '@gateway/contracts/identity';
import type { JobMetering } from '@gateway/jobs/job-metering';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import { checkLine, readLine } from '@gateway/model-service/batch/line-endpoint';
import { isWaitedOut, patiently } from '@gateway/model-service/batch/patiently';
import type { LineInput } from './answer-line.ts';
import type { FileLine } from './batch-lines.ts';
import type { TextBatchRunner } from './batch-service.ts';
import { ENDING_MS } from './create-batch.ts';
import type { textLines } from './text-lines.ts';
import type { Underway } from './underway.ts';

/** A key that was revoked has no line begun that is taken later. */
const IDENTITY_MS = 250;

/** A line that its key's limits have let in. */
export interface TakenLine {
  readonly index: number;
  readonly input: LineInput;
  readonly metering: JobMetering;
  readonly share: JobShare;
  readonly takenAtMs: number;
}

/** What it takes to let a batch's lines in. */
export interface Taking {
  readonly service: Pick<TextBatchRunner, 'meter' | 'services' | 'now'>;
  readonly endpoints: ReturnType<typeof textLines>;
  readonly context: Pick<JobContext, 'jobId' | 'keyId' | 'requestId' | 'signal'>;
  readonly untilMs: number;
  readonly readIdentity: () => Promise<Identity | undefined>;
  /** The batch's lines that have been let in. */
  readonly atWork: Underway;
  /** Lets those that have to wait for a limit try one after the other. */
  readonly inTurn: Turns;
}

/** Lets a line in, once its key's limits do. Resolves to the error of one that is refused; null where they do not before the batch is over. */
export async function takeLine(
  { service, endpoints, context, untilMs, readIdentity, atWork, inTurn }: Taking,
  { index, bytes }: FileLine,
): Promise<TakenLine | GatewayError | null> {
  const { meter, services, now } = service;
  const { jobId, keyId, requestId, signal } = context;
  try {
    const read = readLine(bytes, { endpoints, maxJsonDepth: services.maxJsonDepth });
    const check = async () => {
      const identity = await readIdentity();
      if (identity === undefined) throw keyGone();
      return { identity, checked: await checkLine(read, { identity, strict: false }) };
    };
    const { identity, checked } = await patiently(signal, check);
    const { team, accounts, jobShare = {} } = identity;
    const { estimate, mostMicroUsd, names, input } = checked;
    const takenAtMs = now();
    const { model } = input;
    const id = lineJobId(jobId, index);
    const about = { id, keyId, team, endpoint: read.endpoint.usage, model, startedAtMs: takenAtMs };
    const subject = { ...about, requestId, ...names };
    const leaseMs = untilMs - takenAtMs + ENDING_MS;
    // A run that was interrupted has reserved the same, which counts once.
    const admit = () => meter.begin({ subject, accounts, estimate, mostMicroUsd, leaseMs });
    const admitted = async () => {
      for (;;) {
        try {
          return await admit();
        } catch (error) {
          // Lines at work hold more of the budget than they will have used.
          if (!isOverBudget(error) || atWork.size === 0) throw error;
          await atWork.oneEnded();
        }
      }
    };
    const waiting = () => inTurn.run(() => patiently(signal, admitted, () => untilMs - now()));
    // Where others wait it would only be refused as they are.
    if (inTurn.isBusy) await waiting();
    else
      await admit().catch((error: unknown) => {
        if (!isWaitedOut(error) && !isOverBudget(error)) throw error;
        return waiting();
      });
    return { index, input, metering: { subject, estimate }, share: jobShare, takenAtMs };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    return isWaitedOut(error) && now() >= untilMs ? null : error;
  }
}

/** Reads something again when what was read is older than `IDENTITY_MS`. */
export function remembering<Value>(read: () => Promise<Value>, now: () => number): () => Promise<Value> {
  let known: { readonly value: Promise<Value>; readonly atMs: number } | null = null;
  return () => {
    const nowMs = now();
    if (known !== null && nowMs < known.atMs + IDENTITY_MS) return known.value;
    const value = read();
    known = { value, atMs: nowMs };
    // What could not be read is asked for again.
    value.catch(() => {
      known = null;
    });
    return value;
  };
}

interface Turns {
  readonly isBusy: boolean;
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Has one thing done after the other. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let count = 0;
  return {
    get isBusy() {
      return count > 0;
    },
    run: (work) => {
      count += 1;
      const done = last.then(work).finally(() => {
        count -= 1;
      });
      last = done.catch(() => undefined);
      return done;
    },
  };
}

const isOverBudget = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'budget_exhausted';

const keyGone = (): GatewayError =>
  new GatewayError(
    'invalid_key',
    'The key that created the batch no longer works, so the line was not started.',
  );
