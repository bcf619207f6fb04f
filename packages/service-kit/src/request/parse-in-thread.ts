import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createTaskThread } from '../threads/task-thread.ts';
import type { ParseTask } from './parse-task.ts';
import { endedRequest, findContext } from './request-context.ts';

const thread = createTaskThread<ParseTask, unknown>({
  module: new URL('./parse-task.ts', import.meta.url),
  timeLimitMs: 20_000,
  maxHeapMb: 512,
  idleMs: 60_000,
  onTooMuch: () =>
    new GatewayError('request_too_large', 'The request takes too long to be read. Send less in one request.'),
});

/** The value of a request's JSON that is too large to be parsed in the event loop. @throws {GatewayError} as `parseJson` */
export async function parseInThread(request: IncomingMessage, task: ParseTask): Promise<unknown> {
  const { identity, signal } = findContext(request) ?? {};
  try {
    return await thread.run(task, { ...(identity && { owner: identity.keyId }), ...(signal && { signal }) });
  } catch (error) {
    throw (signal && endedRequest({ signal })) ?? error;
  }
}
