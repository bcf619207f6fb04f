import type { JobStatus } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { lineErrorsKey, lineStatesKey } from '../redis/job-keys.ts';
import { KEPT_SECONDS } from './batch-counts.ts';

/** How far a line is that its batch does itself. */
export interface LineState {
  readonly status: Exclude<JobStatus, 'cancelled'>;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/** A run of lines that follow each other, from an index on, that counts from 0. */
export interface LineStates {
  readonly from: number;
  readonly states: readonly LineState[];
}

const LETTERS: Readonly<Record<LineState['status'], string>> = {
  // As those that Redis fills up with. What becomes of them is their batch's end.
  queued: '\0',
  in_progress: 'p',
  completed: 'c',
  failed: 'f',
};
const STATUSES: ReadonlyMap<string | undefined, LineState['status']> = new Map(
  Object.entries({ p: 'in_progress', c: 'completed', f: 'failed' } as const),
);

const MAX_MESSAGE_CHARACTERS = 200;
const LineError = z.object({ code: z.string(), message: z.string() });

/** Keeps the states of lines, for those who look at their batch: one byte for each, and the errors of those that have failed. */
export async function keepLineStates(
  redis: Redis,
  batchId: string,
  { from, states }: LineStates,
): Promise<void> {
  if (states.length === 0) return;
  const [statesKey, errorsKey] = [lineStatesKey(batchId), lineErrorsKey(batchId)];
  const letters = states.map(({ status }) => LETTERS[status]).join('');
  const writing = redis.multi().setrange(statesKey, from, letters).expire(statesKey, KEPT_SECONDS);
  const errors = states.flatMap(({ errorCode: code, errorMessage }, at) =>
    code === null
      ? []
      : [[`${from + at}`, JSON.stringify({ code, message: errorMessage?.slice(0, MAX_MESSAGE_CHARACTERS) })]],
  );
  if (errors.length > 0) writing.hset(errorsKey, ...errors.flat()).expire(errorsKey, KEPT_SECONDS);
  await writing.exec();
}

/** The states of so many lines from an index on; undefined for one that has not begun. */
export async function readLineStates(
  redis: Redis,
  batchId: string,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<(LineState | undefined)[]> {
  const letters = await redis.getrange(lineStatesKey(batchId), from, from + count - 1);
  const statuses = Array.from({ length: count }, (_, at) => STATUSES.get(letters[at]));
  const failed = statuses.flatMap((status, at) => (status === 'failed' ? [`${from + at}`] : []));
  const texts = failed.length === 0 ? [] : await redis.hmget(lineErrorsKey(batchId), ...failed);
  const errors = new Map(failed.map((index, at) => [index, texts[at] ?? null]));
  return statuses.map((status, at) => {
    if (status === undefined) return undefined;
    const text = errors.get(`${from + at}`) ?? null;
    const error = text === null ? null : LineError.parse(JSON.parse(text));
    return { status, errorCode: error?.code ?? null, errorMessage: error?.message ?? null };
  });
}
