import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { outlineOf } from '@gateway/contracts/json/json-depth';
import { parseJson, readJsonBytes } from '@gateway/service-kit/request/json-body';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import type { Described, DescribeTask } from './describe-thread.ts';
import type { TextEndpoint } from './text-endpoint.ts';
import { contentOf, describeRequest, type TextRequest } from './text-request.ts';

/** What is larger is read in the thread: in the event loop it would keep all others waiting for longer than they notice. */
const MAX_BYTES_HERE = 512 * 1024;
/** The same for its values: members of objects and entries of lists. */
const MAX_VALUES_HERE = 10_000;

const thread = createTaskThread<DescribeTask, Described>({
  module: new URL('./describe-thread.ts', import.meta.url),
  // The largest body that is accepted takes a second.
  timeLimitMs: 20_000,
  maxHeapMb: 1024,
  idleMs: 60_000,
  onTooMuch: () =>
    new GatewayError('request_too_large', 'The request takes too long to be read. Send less in one request.'),
});

/** @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes */
export async function readTextRequest(
  endpoint: TextEndpoint,
  incoming: IncomingMessage,
  { maxBodyBytes, maxJsonDepth }: { readonly maxBodyBytes: number; readonly maxJsonDepth: number },
): Promise<TextRequest> {
  const bytes = await readJsonBytes(incoming, maxBodyBytes);
  return describeBody(endpoint, bytes, maxJsonDepth);
}

/** Reads and describes a whole body. @throws {GatewayError} for one that is not JSON, or not what the endpoint takes */
export function describeBody(
  endpoint: TextEndpoint,
  bytes: Buffer,
  maxDepth: number,
): TextRequest | Promise<TextRequest> {
  if (bytes.length > MAX_BYTES_HERE) return describeInThread(endpoint, bytes, maxDepth);
  const outline = outlineOf(bytes, maxDepth);
  if (outline.valueCount > MAX_VALUES_HERE) return describeInThread(endpoint, bytes, maxDepth);
  return describeRequest(endpoint, bytes, parseJson(bytes, maxDepth, outline));
}

async function describeInThread(
  endpoint: TextEndpoint,
  bytes: Buffer,
  maxDepth: number,
): Promise<TextRequest> {
  const owned = ownBytes(bytes);
  const described = await thread.run({ operation: endpoint.operation, bytes: owned, maxDepth }, [
    owned.buffer,
  ]);
  const { ownValue } = described;
  const body = Buffer.from(described.bytes.buffer);
  return {
    ...described,
    bytes: body,
    content: contentOf(body),
    ownValue: ownValue && GatewayError.deserialize(ownValue),
  };
}

/** Bytes with a memory of their own, which can be handed over. */
function ownBytes({ buffer, byteOffset, length }: Buffer): Uint8Array<ArrayBuffer> {
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  return isOwn ? new Uint8Array(buffer) : Uint8Array.from(new Uint8Array(buffer, byteOffset, length));
}
