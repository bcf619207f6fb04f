import { GatewayError } from '@gateway/contracts/gateway-error';

/** A queued job's model is not configured any more. */
export const modelGone = (name: string): GatewayError =>
  new GatewayError('model_not_found', {
    path: ['model'],
    message: `The model '${name}' does not exist or you do not have access to it.`,
  });
