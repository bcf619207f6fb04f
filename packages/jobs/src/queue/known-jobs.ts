import { type JobArea, type JobKind, jobAreaOf } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { JOBS, type JobOutput } from '../catalog.ts';
import { createClaimMarks } from '../claims/claim-marks.ts';
import { createJobClaims, type JobClaims } from '../claims/job-claims.ts';
import type { LogPage } from '../events/event-log.ts';
import { openJobLog } from '../events/job-log.ts';
import { type JobFiles, outputOf } from '../files/job-files.ts';
import type { JobRecord } from '../job-envelope.ts';
import { toJobError } from '../job-failure.ts';
import type { FindJob, FoundJob } from '../records/find-job.ts';
import { listedJobs, unlistJobs } from '../records/owned-jobs.ts';
import { endedKey } from '../redis/job-keys.ts';
import type { Delivery, KeptResults } from '../results/kept-results.ts';
import { type JobTurns, takerOf } from '../turns/job-turns.ts';
import { unlessAway } from './queue-errors.ts';
import { secondsFor } from './queue-slots.ts';

interface ListOptions {
  readonly area: JobArea;
  readonly keyId: string;
  /** The job before the page's first. */
  readonly after: string | undefined;
  readonly count: number;
}

/** The position of a waiting job. */
export interface WaitingJob {
  /** From 1. */
  readonly position: number;
  /** When a worker will take it, about, as measured by jobs that ended lately; undefined if there are few. At most five minutes. */
  readonly waitSeconds: number | undefined;
}

/** What callers can learn of earlier jobs, made here or elsewhere. Everything fails with `service_unavailable` while Redis is away. */
export interface KnownJobs<Kinds extends JobKind> {
  /** Which jobs idempotency keys name. */
  readonly claims: JobClaims;
  /** What is known of a job, if it is this key's and of this queue's area. @throws {GatewayError} `service_unavailable` */
  find(jobId: string, keyId: string): Promise<FoundJob | undefined>;
  /** Whether a worker has done a job, or somebody has put down how it ended. `find` would look in the queues as well. @throws {GatewayError} `service_unavailable` */
  hasEnded(jobId: string): Promise<boolean>;
  /** How many jobs are before a waiting one; undefined for one that does not wait. @throws {GatewayError} `service_unavailable` */
  positionOf(jobId: string, keyId: string): Promise<WaitingJob | undefined>;
  /** A key's jobs, newest first; undefined where the job before is not known. `size` counts forgotten ones too. */
  list(
    options: ListOptions,
  ): Promise<{ records: FoundJob[]; size: number; lastId: string | null } | undefined>;
  /** The stored output of a job that has ended well. @throws {GatewayError} `internal` when it is not there */
  outputOf<Kind extends Kinds>(kind: Kind, jobId: string): Promise<JobOutput<Kind>>;
  /** Call it when a caller has got a job's result: it is kept for a shorter time from then on. */
  delivered(jobId: string, how: Delivery): void;
  /** Removes what a finished job made. */
  removeResult(record: Pick<JobRecord, 'id' | 'claim'>): Promise<void>;
  /** What a job has emitted after the text with this number, as far as it is still there. */
  textsAfter(jobId: string, number: number): Promise<LogPage>;
}

interface KnownJobsOptions<Kinds extends JobKind> {
  /** Its commands fail promptly while Redis is away. */
  readonly redis: Redis;
  /** Its commands wait until Redis is back. */
  readonly patient: Redis;
  readonly find: FindJob;
  readonly turns: Pick<JobTurns, 'positionOf'>;
  readonly files: JobFiles;
  readonly results: Pick<KeptResults, 'delivered' | 'remove'>;
  readonly kinds: readonly Kinds[];
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

export function createKnownJobs<Kinds extends JobKind>(options: KnownJobsOptions<Kinds>): KnownJobs<Kinds> {
  const { redis, patient, find, turns, files, results, kinds, now, onError } = options;
  const log = openJobLog(redis);
  const areas = new Set(kinds.map(jobAreaOf));
  const queues = new Map(kinds.map((kind) => [JOBS[kind].queue, kind]));
  const claims = awareOfOutages(
    createJobClaims({ redis, find, marks: createClaimMarks(files.uploads), now }),
  );
  return {
    claims,
    find: async (jobId, keyId) => {
      const record = await unlessAway(find(jobId));
      return record?.keyId === keyId && areas.has(jobAreaOf(record.kind)) ? record : undefined;
    },
    hasEnded: async (jobId) => (await unlessAway(redis.exists(endedKey(jobId)))) === 1,
    positionOf: async (jobId, keyId) => {
      for (const [name, kind] of queues) {
        const taker = takerOf(kind, { keyId });
        const found = await unlessAway(turns.positionOf(name, jobId, taker.keyId));
        if (found === undefined) continue;
        const { position, endIntervalMs } = found;
        return { position, waitSeconds: secondsFor(position, endIntervalMs) };
      }
      return undefined;
    },
    list: async ({ area, keyId, after, count }) => {
      const jobIds = await unlessAway(listedJobs(redis, { area, keyId, after, count }));
      if (jobIds === undefined) return undefined;
      const found = await unlessAway(Promise.all(jobIds.map(find)));
      const lost = jobIds.filter((_id, at) => found[at] === undefined);
      // The last one is where the next page begins.
      const lastId = jobIds.at(-1) ?? null;
      unlistJobs(patient, { area, keyId, jobIds: lost.filter((id) => id !== lastId) }).catch(onError);
      return { records: found.filter((record) => record !== undefined), size: jobIds.length, lastId };
    },
    outputOf: async <Kind extends Kinds>(kind: Kind, jobId: string) => {
      const output = JOBS[kind].output.safeParse(await outputOf(files, jobId));
      if (output.success) return output.data;
      throw toJobError(output.error);
    },
    delivered: (jobId, how) => void results.delivered(jobId, how).catch(onError),
    removeResult: async (record) => {
      if (record.claim !== undefined) await unlessAway(claims.release(record.claim, record.id));
      await unlessAway(results.remove(record.id));
    },
    textsAfter: (jobId, number) => unlessAway(log.read(jobId, number)),
  };
}

/** While Redis is away, claims are refused as everything else is. */
const awareOfOutages = ({ claim, jobOf, release }: JobClaims): JobClaims => ({
  claim: (request) => unlessAway(claim(request)),
  jobOf: (keyId, idempotencyKey) => unlessAway(jobOf(keyId, idempotencyKey)),
  release: (key, jobId) => unlessAway(release(key, jobId)),
});
