import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { outlineOf } from '@gateway/contracts/json/json-depth';
import { parseJson, readJsonBytes } from '@gateway/service-kit/request/json-body';
import { inThread, type Waiting } from '../../large/in-thread.ts';
import { isLarge, MAX_VALUES_HERE, sharedBytes } from '../../large/shared-bytes.ts';
import { type Address, withAddress } from './address.ts';
import type { TextEndpoint } from './text-endpoint.ts';
import { contentOf, describeRequest, type TextRequest } from './text-request.ts';

interface BodyBounds {
  readonly maxBodyBytes: number;
  readonly maxJsonDepth: number;
}

/** @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes */
export async function readTextRequest(
  endpoint: TextEndpoint,
  incoming: IncomingMessage,
  { maxBodyBytes, maxJsonDepth }: BodyBounds,
  waiting: Waiting,
  address?: Address,
): Promise<TextRequest> {
  const sent = await readJsonBytes(incoming, maxBodyBytes);
  const bytes = address === undefined ? sent : withAddress(sent, address);
  return describeBody(endpoint, bytes, maxJsonDepth, waiting);
}

/** Reads and describes a whole body. @throws {GatewayError} for one that is not JSON, or not what the endpoint takes */
export function describeBody(
  endpoint: TextEndpoint,
  bytes: Buffer,
  maxDepth: number,
  waiting: Waiting = {},
): TextRequest | Promise<TextRequest> {
  if (isLarge(bytes.length)) return describeInThread(endpoint, bytes, maxDepth, waiting);
  const outline = outlineOf(bytes, maxDepth);
  if (outline.valueCount > MAX_VALUES_HERE) return describeInThread(endpoint, bytes, maxDepth, waiting);
  return describeRequest(endpoint, bytes, parseJson(bytes, maxDepth, outline));
}

/** The same for a body that is known to be large. */
export async function describeInThread(
  { operation }: TextEndpoint,
  sent: Buffer,
  maxDepth: number,
  waiting: Waiting,
): Promise<TextRequest> {
  const bytes = sharedBytes(sent);
  const described = await inThread('describe', { operation, bytes, maxDepth }, waiting);
  const { ownValue, mayHoldTokens, ...request } = described;
  return {
    ...request,
    bytes,
    content: contentOf(bytes),
    large: { bytes, mayHoldTokens },
    ownValue: ownValue && GatewayError.deserialize(ownValue),
  };
}
