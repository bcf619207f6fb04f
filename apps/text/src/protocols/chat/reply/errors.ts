import { dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { openaiError } from '@gateway/service-kit/error-response';

/** The chunk that ends a stream which broke: clients throw on it. A `[DONE]` after it would mean that the answer is whole. */
export const errorFrame = (error: GatewayError): string => dataFrame({ error: openaiError(error) });
