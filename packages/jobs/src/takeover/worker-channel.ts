import { openRedis } from '@gateway/redis/open-redis';
import type { Redis } from 'ioredis';
import { jobCancelled } from '../events/job-listener.ts';
import {
  ANSWER_CHANNEL,
  ASK_CHANNEL,
  CANCEL_CHANNEL,
  cancelledKey,
  workerChannel,
} from '../redis/job-keys.ts';
import { disconnected } from './watch-workers.ts';

/** The messages between workers, and from other processes to them. */
export interface WorkerChannel {
  /**
   * Whether another worker, which seemed dead, still runs this job.
   *
   * @param begunBy the worker that began it, if that is known
   */
  isRunElsewhere(jobId: string, begunBy?: string): Promise<boolean>;
  close(): void;
}

interface ChannelOptions {
  readonly redisUrl: string;
  /** The worker's id, by which others see that it is alive. Absent in a process without a worker. */
  readonly workerId?: string;
  /** What this worker runs. */
  readonly running: ReadonlyMap<string, { readonly stopper: AbortController }>;
  readonly redis: Redis;
  /** How long another worker may take to answer. */
  readonly answerWaitMs: number;
  readonly onError: (error: unknown) => void;
}

/** Stops a job when somebody cancels it, and answers for the jobs that run here. */
export async function openWorkerChannel(options: ChannelOptions): Promise<WorkerChannel> {
  const { redisUrl, workerId, running, redis, answerWaitMs, onError } = options;
  const waiting = new Map<string, () => void>();
  const listeners: Readonly<Record<string, (jobId: string) => unknown>> = {
    [CANCEL_CHANNEL]: (jobId) => running.get(jobId)?.stopper.abort(jobCancelled()),
    [ASK_CHANNEL]: (jobId) => running.has(jobId) && redis.publish(ANSWER_CHANNEL, jobId).catch(onError),
    [ANSWER_CHANNEL]: (jobId) => waiting.get(jobId)?.(),
  };
  const subscriber = await openRedis(redisUrl, 'listener', onError);
  subscriber.on('message', (channel, jobId) => listeners[channel]?.(jobId));
  const own = workerId === undefined ? [] : [workerChannel(workerId)];
  await subscriber.subscribe(...own, ...Object.keys(listeners));
  // What was cancelled while the connection was lost.
  const lookUp = async () => {
    for (const [jobId, { stopper }] of running)
      if ((await redis.exists(cancelledKey(jobId))) === 1) stopper.abort(jobCancelled());
  };
  subscriber.on('ready', () => void lookUp().catch(onError));

  return {
    isRunElsewhere: async (jobId, begunBy) => {
      if (begunBy !== undefined && (await disconnected(redis, [begunBy])).length > 0) return false;
      const answer = Promise.withResolvers<boolean>();
      waiting.set(jobId, () => answer.resolve(true));
      const timer = setTimeout(() => answer.resolve(false), answerWaitMs);
      try {
        await redis.publish(ASK_CHANNEL, jobId);
        return await answer.promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(jobId);
      }
    },
    close: () => subscriber.disconnect(),
  };
}
