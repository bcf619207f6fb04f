import type { GatewayError } from '@gateway/contracts/gateway-error';
import { openaiError } from '@gateway/service-kit/error-response';

/**
 * The last frame of an event stream that broke. Client libraries throw for the event's name or for the member `error`;
 * the members beside it are those of the protocol's error event.
 */
export function errorFrame(error: GatewayError): string {
  const body = openaiError(error);
  const { code, message, param } = body;
  return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param, error: body })}\n\n`;
}
