import type { ToolResultPart } from '../parts.ts';

interface Queue {
  readonly results: ToolResultPart[];
  taken: number;
}

/** The results of tools, by the ids of their calls. An id may come again: its results are taken in their order. */
export class ResultQueues {
  readonly #queues = new Map<string, Queue>();

  constructor(results: readonly ToolResultPart[]) {
    for (const result of results) {
      const queue = this.#queues.get(result.callId);
      if (queue === undefined) this.#queues.set(result.callId, { results: [result], taken: 0 });
      else queue.results.push(result);
    }
  }

  /** The next result of a call. */
  take(callId: string): ToolResultPart | undefined {
    const queue = this.#queues.get(callId);
    const result = queue?.results[queue.taken];
    if (queue !== undefined && result !== undefined) queue.taken += 1;
    return result;
  }

  /** Takes this result if it is the next one of its call. */
  takeIfNext(result: ToolResultPart): boolean {
    const queue = this.#queues.get(result.callId);
    if (queue?.results[queue.taken] !== result) return false;
    queue.taken += 1;
    return true;
  }

  /** The first that no call has taken. */
  first(): ToolResultPart | undefined {
    for (const { results, taken } of this.#queues.values()) if (taken < results.length) return results[taken];
    return undefined;
  }
}
