import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RequestLoad } from '@gateway/service-kit/load/load-guard';
import { endedRequest } from '@gateway/service-kit/request/request-context';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import { z } from 'zod';
import type { LargeTask, LargeTasks } from './large-tasks.ts';

const thread = createTaskThread<LargeTask, unknown>({
  module: new URL('./large-tasks.ts', import.meta.url),
  // The largest body that is accepted takes some seconds.
  timeLimitMs: 20_000,
  maxHeapMb: 1024,
  idleMs: 60_000,
  onTooMuch: () =>
    new GatewayError('request_too_large', 'The request takes too long to be read. Send less in one request.'),
});

/** Who waits for a task. */
export interface Waiting {
  /** Whose large bodies take turns with those of others: a key's. */
  readonly owner?: string | undefined;
  /** Aborted when nobody waits any longer. */
  readonly signal?: AbortSignal | undefined;
  /** Counts what the thread writes of the request's body, which is held as long as the body. */
  readonly load?: Pick<RequestLoad, 'add'> | undefined;
}

/** The other side is our own module. */
const isResultOf = <Name extends keyof LargeTasks>() => z.custom<LargeTasks[Name]['result']>();

/**
 * Does work on a large body in the thread, so that the event loop is there for everybody else.
 *
 * @throws {GatewayError} what the work throws; `request_too_large` where it takes too long
 */
export async function inThread<Name extends keyof LargeTasks>(
  name: Name,
  task: LargeTasks[Name]['task'],
  { owner, signal, load }: Waiting,
): Promise<LargeTasks[Name]['result']> {
  const options = { ...(owner !== undefined && { owner }), ...(signal !== undefined && { signal }) };
  try {
    const result = isResultOf<Name>().parse(await thread.run({ name, task }, options));
    load?.add(bytesIn(result));
    return result;
  } catch (error) {
    throw (signal && endedRequest({ signal })) ?? error;
  }
}

/** The bytes of a body in what the thread has made. */
function bytesIn(result: LargeTasks[keyof LargeTasks]['result']): number {
  const body = typeof result === 'object' && result !== null && 'bytes' in result ? result.bytes : result;
  return body instanceof Uint8Array ? body.length : 0;
}
