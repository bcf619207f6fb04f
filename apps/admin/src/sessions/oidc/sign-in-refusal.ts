import { GatewayError } from '@gateway/contracts/gateway-error';

/** Why a person is sent back to the sign-in page, which has a sentence for each. */
export type SignInProblem =
  | 'expired'
  | 'refused'
  | 'no-role'
  | 'disabled'
  | 'too-many-groups'
  | 'limited'
  | 'unreachable'
  | 'wrong-issuer'
  | 'failed';

/** A refusal with a problem of its own, where the error's code does not say it. */
export class SignInRefusal extends GatewayError {
  readonly problem: SignInProblem;

  constructor(problem: SignInProblem, ...error: ConstructorParameters<typeof GatewayError>) {
    super(...error);
    this.problem = problem;
  }
}
