import type { BackgroundResponse } from '../../background/background-responses.ts';
import type { OpenedCall, TextServices } from '../../call/request/text-call.ts';
import { putResponse } from '../../call/storing/put-response.ts';
import { dataOf } from '../../stored/response-record.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { completeStored, findOwned, type Made } from '../stored/read-stored.ts';
import type { BackgroundBody } from './background-body.ts';

/**
 * Stores a background response when it is accepted: its input can be listed, and continuing it too early is refused.
 * Resolves to whether it could; what is not kept can be read, but not continued.
 */
export async function storeAccepted(
  call: OpenedCall,
  id: string,
  { accepted, input }: { readonly accepted: JsonObject } & Pick<BackgroundBody, 'input'>,
): Promise<boolean> {
  const { history, identity, request } = call;
  if (!history.isWhole) return false;
  const { model } = request;
  // Which channel it will be is not known yet.
  const origin = { keyId: identity.keyId, channel: '', model, requestedModel: model, isProviders: false };
  const result = await putResponse(call, {
    id,
    // The worker adds it, when it has taken the conversation.
    after: null,
    input: await input(),
    output: [],
    data: dataOf(accepted, origin),
  });
  return result === 'stored';
}

/** Stores how it has ended. Resolves to whether the store has it; where not, it has nothing of it. */
export async function storeEnd(
  services: TextServices,
  { owner, isKept }: Pick<BackgroundResponse, 'owner' | 'isKept'>,
  response: JsonObject & { readonly id: string },
  made?: Made,
): Promise<boolean> {
  if (!isKept) return false;
  const { id } = response;
  const stored = await findOwned(services, owner, id).catch(() => null);
  if (stored === null) return false;
  if (await completeStored(services, stored, response, made).catch(() => false)) return true;
  await services.conversations.remove({ owner, kind: 'response', id }).catch(() => undefined);
  return false;
}
