import { GatewayError } from '@gateway/contracts/gateway-error';
import { LARGE_BODY_BYTES } from '@gateway/service-kit/request/json-body';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import { type ReadReply, type ReplyTask, readReply } from './read-reply.ts';

const thread = createTaskThread<ReplyTask, ReadReply>({
  module: new URL('./reply-task.ts', import.meta.url),
  timeLimitMs: 60_000,
  maxHeapMb: 2048,
  idleMs: 60_000,
  onTooMuch: () =>
    new GatewayError('upstream_failed', {
      message: 'The answer of the upstream takes too long to be read. Send fewer inputs in one request.',
      source: 'upstream',
      retry: false,
    }),
});

/** Reads a reply; a large one in a thread, so that others have their turns. */
export const readAnyReply = (
  task: ReplyTask,
  waiter: { readonly owner: string; readonly signal: AbortSignal },
): Promise<ReadReply> =>
  task.bytes.length > LARGE_BODY_BYTES ? thread.run(task, waiter) : Promise.resolve(readReply(task));
