import { GatewayError } from '@gateway/contracts/gateway-error';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import type { Request, RequestHandler, Response } from 'express';
import {
  type BackgroundResponse,
  type BackgroundResponses,
  isFinal,
} from '../../background/background-responses.ts';
import { followResponse } from '../../background/follow-response.ts';
import { queryOf } from '../../call/request-head.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { type Acceptance, unavailable } from './accept-response.ts';
import { eventStreamHead, jsonHead } from './reply-head.ts';
import { isOwnId, jobIdOf } from './response-id.ts';

interface ShowOptions extends Acceptance {
  readonly keepAliveMs: number;
}

interface FoundCall {
  readonly id: string;
  readonly found: BackgroundResponse;
  readonly message: Request;
  readonly response: Response;
}

type Operation = (call: FoundCall, options: ShowOptions) => Promise<void>;

/** Handles a call about a response that the gateway generates in the background; `otherwise` handles one about any other. */
const createHandler =
  (operation: Operation, options: ShowOptions, otherwise: RequestHandler): RequestHandler =>
  async (message, response, next) => {
    const id = String(message.params.id);
    const found = isOwnId(id) ? await findOwn(options.responses, id, identityOf(message).keyId) : null;
    if (found === null) return otherwise(message, response, next);
    contextOf(message).line.responseId = id;
    await operation({ id, found, message, response }, options);
  };

/** `GET /v1/responses/{id}`, as an object or as its events. */
export const createReadHandler = (options: ShowOptions, otherwise: RequestHandler): RequestHandler =>
  createHandler(read, options, otherwise);

/** `POST /v1/responses/{id}/cancel` */
export const createCancelHandler = (options: ShowOptions, otherwise: RequestHandler): RequestHandler =>
  createHandler(
    async (call, { responses, queue }) => {
      await cancel(call, { responses, queue });
      const { found, id } = call;
      show(call, (await find(responses, id)) ?? found);
    },
    options,
    otherwise,
  );

/** `DELETE /v1/responses/{id}`. One that has not ended is cancelled first. */
export const createDeleteHandler = (options: ShowOptions, otherwise: RequestHandler): RequestHandler =>
  createHandler(
    async (call, { responses, queue }) => {
      await cancel(call, { responses, queue });
      const { id } = call;
      await responses.remove(id).catch(rethrow);
      send(call, { id, object: 'response', deleted: true });
    },
    options,
    otherwise,
  );

const rethrow = (cause: unknown): never => {
  throw unavailable(cause);
};

const find = (responses: BackgroundResponses, id: string) => responses.find(id).catch(rethrow);

/** Another key's does not exist. */
async function findOwn(
  responses: BackgroundResponses,
  id: string,
  keyId: string,
): Promise<BackgroundResponse | null> {
  const found = await find(responses, id);
  return found?.keyId === keyId ? found : null;
}

async function read(call: FoundCall, options: ShowOptions): Promise<void> {
  const { id, found, message, response } = call;
  const query = new URLSearchParams(queryOf(message));
  if (query.get('stream') !== 'true') return show(call, found);
  const after = startingAfter(query.get('starting_after'));
  const { responses, feed, keepAliveMs } = options;
  if (!found.keepsEvents || !(await responses.hasEvents(id).catch(rethrow))) throw withoutEvents(id, found);
  const context = contextOf(message);
  const headers = { ...found.ending?.headers, ...eventStreamHead(context) };
  await followResponse({ responses, feed, id, after, response, context, headers, keepAliveMs });
}

const MAX_DIGITS = 9;

/** @throws {GatewayError} for what is no number of an event */
function startingAfter(value: string | null): number {
  if (value === null) return -1;
  if (/^\d+$/.test(value) && value.length <= MAX_DIGITS) return Number(value);
  throw new GatewayError('invalid_type', {
    path: ['starting_after'],
    message: "'starting_after' must be the sequence number of an event: a whole number from 0.",
  });
}

const withoutEvents = (id: string, { keepsEvents }: BackgroundResponse): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['stream'],
    message: keepsEvents
      ? `The events of response '${id}' are no longer kept. Read it without 'stream'.`
      : `Response '${id}' was created without 'stream: true', so its events are not kept. Read it without 'stream'.`,
  });

/** Does nothing to one that has ended. */
async function cancel(
  { id, found }: FoundCall,
  { responses, queue }: Pick<ShowOptions, 'responses' | 'queue'>,
): Promise<void> {
  if (isFinal(found.status)) return;
  const final = { status: 'cancelled', response: null, headers: {}, events: [] } as const;
  // Its worker may have ended it just now.
  if (await responses.end(id, final).catch(rethrow)) await queue.cancel('text.response', jobIdOf(id));
}

const show = (call: FoundCall, { response, ending }: BackgroundResponse): void =>
  send(call, response, ending?.headers);

function send(
  { message, response }: FoundCall,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, { ...headers, ...jsonHead(contextOf(message)) });
  response.end(JSON.stringify(body));
}
