import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { hooksFor } from '@gateway/hooks/open-hooks';
import type { RequestHooks } from '@gateway/hooks/request-hooks';
import { failedWith, NONE_UNREAD } from '../accounting/outcome.ts';
import type { Answered } from '../attempts/attempt-candidates.ts';
import { namesOf } from '../request/conversation-key.ts';
import type { OpenedCall, TextCall, TextServices } from '../request/text-call.ts';

/** The hooks that check a call; null: none does. */
export function hooksOf(call: OpenedCall): Promise<RequestHooks> | null {
  const { services, identity, context, request } = call;
  const { configuration } = services.upstream;
  if (configuration.hooks.length === 0) return null;
  return services.hooks.begin(configuration, {
    identity,
    model: request.model,
    requestId: context.requestId,
    endUser: namesOf(call).endUser ?? null,
    signal: context.signal,
    onNote: (text) => {
      context.line.hooks = text;
    },
  });
}

/** Whether hooks look at a call's answer before its caller does: then nobody may get it from its provider. */
export const holdsAnswer = ({ services, identity, request }: OpenedCall): boolean =>
  holdsAnswers(services, identity, request.model);

/** The same for answers of a model; null: of any, since it is not known which one made them. */
export const holdsAnswers = (
  { upstream }: Pick<TextServices, 'upstream'>,
  identity: Pick<Identity, 'keyId' | 'keyName' | 'team'>,
  model: string | null,
): boolean =>
  hooksFor(upstream.configuration.hooks, identity, model).some(
    ({ output }) => output === 'window' || output === 'whole',
  );

/** A call whose input was refused before a provider got it. */
export const refusedCall = (call: TextCall, error: GatewayError): Answered => ({
  call,
  outcome: { ...failedWith(error), candidate: null, attempts: [], unread: NONE_UNREAD, discarded: [] },
});
