import { once } from 'node:events';
import { type Transferable, Worker } from 'node:worker_threads';
import { GatewayError, type SerializedError } from '@gateway/contracts/gateway-error';
import { z } from 'zod';

/** What a thread answers for one task. */
export type TaskAnswer<Result> = { readonly result: Result } | { readonly refused: SerializedError };

/** The other side is our own module: what it says of its result is true. */
const isAnswer = <Result>() => z.custom<TaskAnswer<Result>>((value) => typeof value === 'object');

export interface TaskThread<Task, Result> {
  /**
   * Has the thread do a task when its turn comes.
   *
   * @throws {GatewayError} what the task throws; `onTooMuch`'s where it takes too long, or too much memory
   * @throws the signal's reason
   */
  run(task: Task, options?: TaskOptions): Promise<Result>;
}

interface TaskOptions {
  /** What is handed over without a copy. It cannot be used here any more. */
  readonly transferred?: readonly Transferable[];
  /** Whose task it is: where others wait, nobody's tasks are done one right after the other. */
  readonly owner?: string;
  /** Nobody waits for the result any longer. A task that has begun is done, and its result is dropped. */
  readonly signal?: AbortSignal;
}

interface TaskThreadOptions {
  /** A module that calls `serveTasks`. */
  readonly module: URL;
  readonly timeLimitMs: number;
  readonly maxHeapMb: number;
  /** How long the thread waits for another task before it ends. Default: not at all. */
  readonly idleMs?: number;
  readonly onTooMuch: () => GatewayError;
}

/**
 * A thread for work whose size a stranger decides: one task at a time in a process, each within a time limit and a bound of
 * memory, so that the event loop is there for everybody else. The thread begins with the first task.
 */
export function createTaskThread<Task, Result>(options: TaskThreadOptions): TaskThread<Task, Result> {
  const { module, timeLimitMs, maxHeapMb, idleMs = 0, onTooMuch } = options;
  const Answer = isAnswer<Result>();
  const queue: WaitingTask<Task, Result>[] = [];
  let isBusy = false;
  let lastOwner: string | undefined;
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | undefined;

  const start = async (): Promise<Worker> => {
    const started = new Worker(module, {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
      execArgv: [],
      // Nothing of this process's secrets is there to be found.
      env: {},
    });
    // What comes after its answer changes nothing.
    started.on('error', () => undefined);
    started.on('exit', () => {
      if (worker === started) worker = null;
    });
    // To begin takes as long as the machine lets it: the limits are for tasks.
    await once(started, 'message');
    return started;
  };
  const end = async (): Promise<void> => {
    const ended = worker;
    worker = null;
    await ended?.terminate();
  };
  const runNow = async ({ task, transferred }: WaitingTask<Task, Result>): Promise<Result> => {
    clearTimeout(idle);
    let timeLimit: AbortSignal | undefined;
    try {
      worker ??= await start();
      worker.ref();
      timeLimit = AbortSignal.timeout(timeLimitMs);
      worker.postMessage(task, transferred);
      const [message]: unknown[] = await once(worker, 'message', { signal: timeLimit });
      const answer = Answer.parse(message);
      if ('refused' in answer) throw GatewayError.deserialize(answer.refused);
      return answer.result;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      await end();
      throw timeLimit?.aborted || isOutOfMemory(error) ? onTooMuch() : error;
    } finally {
      if (queue.length === 0) await rest();
    }
  };
  const rest = async (): Promise<void> => {
    if (idleMs === 0) return end();
    // A process that has nothing else to do may end.
    worker?.unref();
    idle = setTimeout(() => void end(), idleMs).unref();
  };

  const takeNext = (): WaitingTask<Task, Result> | undefined => {
    const at = queue.findIndex(({ owner }) => owner !== lastOwner);
    const [next] = queue.splice(Math.max(at, 0), 1);
    lastOwner = next?.owner;
    return next;
  };
  const runAll = async (): Promise<void> => {
    isBusy = true;
    for (let next = takeNext(); next !== undefined; next = takeNext())
      await runNow(next).then(next.resolve, next.reject);
    isBusy = false;
  };

  return {
    run: (task, { transferred = [], owner, signal } = {}) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const leave = () => {
          const at = queue.indexOf(waiting);
          if (at >= 0) queue.splice(at, 1);
          reject(signal?.reason);
        };
        const settled = () => signal?.removeEventListener('abort', leave);
        const waiting: WaitingTask<Task, Result> = {
          task,
          transferred,
          owner,
          resolve: (result) => {
            settled();
            resolve(result);
          },
          reject: (error) => {
            settled();
            reject(error);
          },
        };
        signal?.addEventListener('abort', leave, { once: true });
        queue.push(waiting);
        if (!isBusy) void runAll();
      }),
  };
}

interface WaitingTask<Task, Result> {
  readonly task: Task;
  readonly transferred: readonly Transferable[];
  readonly owner: string | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
