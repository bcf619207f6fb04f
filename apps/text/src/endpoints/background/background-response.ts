import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { HttpCaller } from '@gateway/model-service/caller';
import type { Handler } from '@gateway/service-kit/request/handler';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { type BackgroundResponse, unavailable } from '../../background/background-responses.ts';
import { followResponse } from '../../background/follow-response.ts';
import { eventStreamHead, jsonHead } from '../../call/attempts/reply-head.ts';
import { ownersOf } from '../../call/history/conversation-space.ts';
import { queryOf } from '../../call/request/request-head.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import {
  findOwned,
  removeStored,
  responseNotFound,
  shownStored,
  startingAfter,
} from '../stored/read-stored.ts';
import type { Shown } from '../stored/shown.ts';
import type { Acceptance } from './accept-response.ts';
import { cancelBackground } from './end-background.ts';
import { isOwnId, jobIdOf } from './response-id.ts';

interface ShowOptions extends Acceptance {
  readonly services: TextServices;
}

interface FoundCall {
  readonly id: string;
  readonly found: BackgroundResponse;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
}

type Operation = (call: FoundCall, options: ShowOptions) => Promise<void>;

/** Handles a call about a response that the gateway generates in the background; `otherwise` handles one about any other. */
const createHandler =
  (operation: Operation) =>
  (options: ShowOptions, otherwise: Handler): Handler =>
  async (incoming, response, params) => {
    const id = String(params.id);
    const found = isOwnId(id) ? await find(options, id) : null;
    const { configuration } = options.services.upstream;
    const owners = ownersOf(identityOf(incoming), configuration.conversations);
    // Another owner's does not exist.
    if (found === null || !owners.includes(found.owner)) return otherwise(incoming, response, params);
    contextOf(incoming).line.responseId = id;
    await operation({ id, found, incoming, response }, options);
  };

/** `GET /v1/responses/{id}`, as an object or as its events. */
export const createReadHandler = createHandler(async (call, options) => {
  const { id, found, incoming, response } = call;
  const query = new URLSearchParams(queryOf(incoming));
  if (query.get('stream') !== 'true') return show(call, found, options);
  const after = startingAfter(query);
  const { responses, feed, services } = options;
  if (!found.keepsEvents || !(await responses.hasEvents(id).catch(rethrow))) throw withoutEvents(id, found);
  const context = contextOf(incoming);
  const headers = { ...found.ending?.headers, ...eventStreamHead(context) };
  const { keepAliveMs } = services;
  const caller = new HttpCaller(response);
  await followResponse({ responses, feed, id, after, caller, context, headers, keepAliveMs });
});

/** `POST /v1/responses/{id}/cancel` */
export const createCancelHandler = createHandler(async (call, options) => {
  await cancel(call, options);
  const { id, found } = call;
  await show(call, (await find(options, id)) ?? found, options);
});

/** `DELETE /v1/responses/{id}`. One that has not ended is cancelled first. */
export const createDeleteHandler = createHandler(async (call, options) => {
  await cancel(call, options);
  const { id, found } = call;
  const { responses, services } = options;
  await responses.remove(id).catch(rethrow);
  const stored = await findOwned(services, found.owner, id);
  if (stored !== null) await removeStored(services, stored);
  send(call, { id, object: 'response', deleted: true });
});

const rethrow = (cause: unknown): never => {
  throw unavailable(cause);
};

const find = ({ responses }: ShowOptions, id: string) => responses.find(id).catch(rethrow);

const withoutEvents = (id: string, { keepsEvents }: BackgroundResponse): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['stream'],
    message: keepsEvents
      ? `The events of response '${id}' are no longer stored. Read it without 'stream'.`
      : `Response '${id}' was created without 'stream: true', so its events are not stored. Read it without 'stream'.`,
  });

/** Does nothing to one that has ended. */
async function cancel({ id, found }: FoundCall, options: ShowOptions): Promise<void> {
  // Its worker may have ended it just now.
  const isCancelled = await cancelBackground(options, id, found).catch(rethrow);
  if (isCancelled) await options.queue.cancelSubmitted('text.response', jobIdOf(id));
}

async function show(call: FoundCall, shown: BackgroundResponse, { services }: ShowOptions): Promise<void> {
  const { id } = call;
  const { response, ending, owner } = shown;
  const stored = response === null ? await findOwned(services, owner, id) : null;
  const body = stored === null ? response : await shownStored(services, stored);
  if (body === null) throw responseNotFound(id);
  send(call, body, ending?.headers);
}

function send(
  { incoming, response }: FoundCall,
  body: Shown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, { ...headers, ...jsonHead(contextOf(incoming)) });
  response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
}
