import { parentPort, type Transferable } from 'node:worker_threads';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TaskAnswer } from './task-thread.ts';

/** What a task comes to, and what of it is handed over without a copy. */
interface Done<Result> {
  readonly result: Result;
  readonly transferred?: readonly Transferable[];
}

/** Does the tasks of a `TaskThread`, in its module. What is thrown and is no `GatewayError` ends the thread. */
export function serveTasks<Task, Result>(work: (task: Task) => Done<Result> | Promise<Done<Result>>): void {
  parentPort?.on('message', async (task: Task) => {
    const answer = (message: TaskAnswer<Result>, transferred: readonly Transferable[] = []) =>
      parentPort?.postMessage(message, transferred);
    try {
      const { result, transferred } = await work(task);
      answer({ result }, transferred);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      answer({ refused: error.serialize() });
    }
  });
  parentPort?.postMessage('ready');
}
