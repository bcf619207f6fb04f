import type { SerializedError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/service-kit/request/json-body';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import type { Operation } from '@gateway/upstream/protocol';
import { endpointOf } from './text-endpoint.ts';
import { describeRequest, type TextRequest } from './text-request.ts';

export interface DescribeTask {
  readonly operation: Operation;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly maxDepth: number;
}

/** A request without its content, and its bytes given back. */
export interface Described extends Omit<TextRequest, 'bytes' | 'content' | 'ownValue'> {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ownValue: SerializedError | null;
}

serveTasks(({ operation, bytes, maxDepth }: DescribeTask) => {
  const body = Buffer.from(bytes.buffer);
  const { content, ...request } = describeRequest(endpointOf(operation), body, parseJson(body, maxDepth));
  content.release();
  const result: Described = { ...request, bytes, ownValue: request.ownValue?.serialize() ?? null };
  return { result, transferred: [bytes.buffer] };
});
