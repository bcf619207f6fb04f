import type { GatewayError } from '@gateway/contracts/gateway-error';
import { googleError } from '@gateway/service-kit/error-response';

/**
 * What ends a stream which broke: the error's body by itself, as Google sends it. Its client throws on JSON that is no event, and
 * would take an event for a piece of the answer.
 */
export const errorFrame = (error: GatewayError): string => JSON.stringify({ error: googleError(error) });
