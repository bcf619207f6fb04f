import { GatewayError } from '@gateway/contracts/gateway-error';
import { shownName } from './dropped-names.ts';

/** For a member that a provider does not have, where it must not be left out. */
export const unsupportedMember = (name: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: [shownName(name)],
    message: `'${shownName(name)}' is not available with the upstream of this model. Leave it out, or choose another model.`,
  });
