import { checkOpenAi } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import { asText, type JsonObject } from '../json-value.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';
import { DONE_FRAME, jsonReply, streamReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { countInputTokens } from '../tokens.ts';
import { conversationOf } from './conversations.ts';
import { ownItems, previousContext } from './effective-input.ts';
import { lastUserText } from './read-prompt.ts';
import type { StoredResponse } from './response-store.ts';

const TERMINAL = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

const found = ({ params, provider }: Call): StoredResponse => {
  const [id = ''] = params;
  const response = provider.responses.get(id);
  if (response) return response;
  throw new ProviderError({ status: 404, message: `Response with id '${id}' not found.`, param: 'id' });
};

/** Frames with a sequence number above the given one; frames without a number are kept. */
const framesAfter = function* (frames: Iterable<string>, startingAfter: number): Generator<string> {
  for (const frame of frames) {
    const number = /"sequence_number":(\d+)/.exec(frame)?.[1];
    if (number === undefined || Number(number) > startingAfter) yield frame;
  }
};

/** `GET /v1/responses/{id}`: the object, or with `stream=true` its events, once it has finished. */
export const getResponse: Handler = async (call) => {
  const response = found(call);
  const { query } = call.request;
  if (query.get('stream') !== 'true') return jsonReply(response.current);
  await response.done;
  if (response.current.status === 'cancelled') return streamReply([DONE_FRAME]);
  const startingAfter = Number(query.get('starting_after') ?? -1);
  return streamReply(framesAfter(response.frames(), startingAfter));
};

/** `DELETE /v1/responses/{id}` */
export const deleteResponse: Handler = (call) => {
  const { id } = found(call);
  call.provider.responses.delete(id);
  return jsonReply({ id, object: 'response', deleted: true });
};

/** `POST /v1/responses/{id}/cancel`: background responses only; an ended one stays as it is. */
export const cancelResponse: Handler = (call) => {
  const response = found(call);
  if (!response.isBackground) {
    throw invalidRequest('Cannot cancel a synchronous response.', null, null);
  }
  if (!TERMINAL.has(asText(response.current.status))) {
    response.finish({ ...response.current, status: 'cancelled' });
  }
  return jsonReply(response.current);
};

const MAX_PAGE = 100;
const DEFAULT_PAGE = 20;

/** `GET /v1/responses/{id}/input_items` */
export const listInputItems: Handler = (call) => {
  const { inputItems } = found(call);
  const { query } = call.request;
  const limit = Math.min(Math.max(Number(query.get('limit') ?? DEFAULT_PAGE), 1), MAX_PAGE);
  const ordered = query.get('order') === 'asc' ? inputItems : inputItems.toReversed();
  const after = query.get('after');
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  const data = ordered.slice(start, start + limit);
  return jsonReply({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < ordered.length,
  });
};

/** `POST /v1/responses/input_tokens` */
export const countResponseTokens: Handler = (call) => {
  const body: JsonObject = readJson(call);
  call.applyDirectives(lastUserText(body.input), asText(body.model));
  checkOpenAi(body, { model: { kind: 'string', required: true } });
  const conversation = conversationOf(body.conversation, call.provider);
  const context = conversation?.items ?? previousContext(body.previous_response_id, call.provider);
  const items = ownItems(body.input, call.provider);
  const input_tokens = countInputTokens(body.instructions, context, items, body.tools);
  return jsonReply({ object: 'response.input_tokens', input_tokens });
};
