import { eventStreamHead } from '../call/attempts/reply-head.ts';
import { candidatesFor } from '../call/open-call.ts';
import { conversationIn, unstoredBefore } from '../call/request/history.ts';
import { ownInput } from '../call/request/own-input.ts';
import { remember } from '../call/request/response-memory.ts';
import { type OpenedCall, waitingFor } from '../call/request/text-call.ts';
import { putResponse } from '../call/storing/put-response.ts';
import { UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { inThread } from '../large/in-thread.ts';
import { echoOf, responseObject } from '../protocols/responses/reply/response-object.ts';
import { replyFrames } from '../protocols/responses/stream/reply-frames.ts';
import { dataOf } from '../stored/response-record.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { newId } from '../wire/tokens/new-id.ts';
import { NO_USAGE } from '../wire/usage.ts';

/**
 * Answers a `response.create` that is only to prepare the next one: a response without output, of whose id later ones go
 * on. It is checked as one that generates, and no provider is called.
 *
 * @throws {GatewayError} for what no candidate can serve
 */
export async function warmUp(call: OpenedCall): Promise<void> {
  const { context, history, request, caller, services } = call;
  candidatesFor(call);
  const nowSeconds = Math.floor(services.now() / 1000);
  const made = responseObject(
    {
      id: newId('resp_'),
      createdAt: nowSeconds,
      status: 'completed',
      completedAt: nowSeconds,
      error: null,
      incompleteDetails: null,
      output: [],
      usage: NO_USAGE,
      serviceTier: undefined,
    },
    { plan: { model: request.model, echo: await echoFor(call) } },
  );
  const shown: JsonObject = {
    ...made,
    previous_response_id: null,
    ...history.continued?.members,
    store: history.storing === 'wanted' && (await store(call, made)),
  };
  if (shown.store === false) {
    remember(call, shown, {
      servedBy: history.continued?.servedBy ?? null,
      input: () => ownInput(call),
      output: () => [],
    });
  }
  context.line.warmUp = true;
  const isUnstored = request.stored && shown.store === false;
  caller.begin(200, { ...eventStreamHead(context), ...(isUnstored && UNSTORED_HEADER) });
  caller.end(replyFrames(shown) ?? undefined);
}

async function echoFor(call: OpenedCall): Promise<JsonObject> {
  const { content, large } = call.request;
  if (large === null) return echoOf(content.take());
  return objectOf(parseBody(await inThread('echo', { bytes: large.bytes }, waitingFor(call))));
}

async function store(call: OpenedCall, made: JsonObject): Promise<boolean> {
  const { history, identity, request, context } = call;
  const { model } = request;
  const id = String(made.id);
  const origin = {
    channel: '',
    ...history.continued?.servedBy,
    keyId: identity.keyId,
    model,
    requestedModel: model,
    isProviders: false,
  };
  context.line.responseId = id;
  const result = await putResponse(call, {
    id,
    after: conversationIn(history),
    input: [...(await unstoredBefore(history)), ...(await ownInput(call))],
    output: [],
    data: dataOf(made, origin),
  });
  return result === 'stored';
}
