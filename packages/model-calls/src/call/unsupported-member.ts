import { GatewayError } from '@gateway/contracts/gateway-error';

/** For a member that a provider does not have, where it must not be left out. */
export const unsupportedMember = (name: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: [name],
    message: `'${name}' is not available with the upstream of this model. Leave it out, or choose another model.`,
  });
