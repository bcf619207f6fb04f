import type { JobKind } from '@gateway/contracts/jobs';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOBS } from '../catalog.ts';
import type { EventFeed } from '../events/event-feed.ts';
import { type JobListener, listenToJobs } from '../events/job-listener.ts';
import type { JobFiles } from '../files/job-files.ts';
import { createJobFinder, type FindJob } from '../records/find-job.ts';
import { QUEUE_PREFIX } from '../redis/job-keys.ts';
import { createKeptResults } from '../results/kept-results.ts';

/** What a waiting process has of one queue. */
export interface QueueLine {
  /** Its requests fail promptly while Redis is away. */
  readonly queue: Queue;
  /** Its requests wait until Redis is back. */
  readonly patientQueue: Queue;
  readonly listener: JobListener;
}

interface FinderOptions {
  readonly kinds: readonly JobKind[];
  readonly redis: Redis;
  readonly files: JobFiles;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

interface LineOptions extends Omit<FinderOptions, 'redis'> {
  readonly prompt: Redis;
  readonly patient: Redis;
  readonly feed: EventFeed;
  readonly lookUpMs: number;
}

const namesOf = (kinds: readonly JobKind[]): string[] => [...new Set(kinds.map((kind) => JOBS[kind].queue))];

/** Finds the jobs of these kinds over one connection. */
export const openFinder = ({ kinds, redis, files, now, onError }: FinderOptions): FindJob =>
  createJobFinder({
    redis,
    files,
    queues: namesOf(kinds).map((name) => openQueue(name, redis, onError)),
    results: createKeptResults({ redis, assets: files.assets, now }),
  });

/** Opens the queues of these kinds, by their names. */
export async function openLines(options: LineOptions): Promise<ReadonlyMap<string, QueueLine>> {
  const { kinds, prompt, patient, feed, files, lookUpMs, onError } = options;
  const find = openFinder({ ...options, redis: patient });
  const lines = namesOf(kinds).map(async (name) => {
    const queue = openQueue(name, prompt, onError);
    const patientQueue = openQueue(name, patient, onError);
    const listener = await listenToJobs({
      queue: patientQueue,
      redis: patient,
      feed,
      files,
      find,
      lookUpMs,
      onError,
    });
    return [name, { queue, patientQueue, listener }] as const;
  });
  return new Map(await Promise.all(lines));
}

function openQueue(name: string, connection: Redis, onError: (error: unknown) => void): Queue {
  const queue = new Queue(name, { connection, prefix: QUEUE_PREFIX });
  queue.on('error', onError);
  return queue;
}
