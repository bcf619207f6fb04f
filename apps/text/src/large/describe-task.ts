import type { SerializedError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/service-kit/request/json-body';
import type { Operation } from '@gateway/upstream/protocol';
import { endpointOf } from '../call/request/text-endpoint.ts';
import { describeRequest, type TextRequest } from '../call/request/text-request.ts';
import { mayHoldTokens } from '../passthrough/restore-tokens.ts';
import { bufferOf } from './shared-bytes.ts';

export interface DescribeTask {
  readonly operation: Operation;
  readonly bytes: Uint8Array;
  readonly maxDepth: number;
}

/** A request without its content. */
export interface Described extends Omit<TextRequest, 'bytes' | 'content' | 'ownValue' | 'large'> {
  readonly ownValue: SerializedError | null;
  readonly mayHoldTokens: boolean;
}

/** Checks and describes the body of a request. @throws {GatewayError} for one that is not what the endpoint takes */
export function describeTask({ operation, bytes, maxDepth }: DescribeTask): Described {
  const body = bufferOf(bytes);
  const endpoint = endpointOf(operation);
  const described = describeRequest(endpoint, body, parseJson(body, maxDepth));
  const { content: _, bytes: __, large: ___, ownValue, ...request } = described;
  return {
    ...request,
    ownValue: ownValue?.serialize() ?? null,
    mayHoldTokens: mayHoldTokens(body, endpoint.protocol),
  };
}
