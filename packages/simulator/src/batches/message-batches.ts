import { readJson } from '../checks/read-json.ts';
import { asList, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { pageOf, type SimulatedBatch } from './batch-store.ts';
import { advance } from './run-batch.ts';

const DAY_SECONDS = 86_400;
const MAX_REQUESTS = 100_000;
const CUSTOM_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const OVER: ReadonlySet<SimulatedBatch['status']> = new Set(['completed', 'expired', 'cancelled']);

const refuse = (message: string): never => {
  throw new ProviderError({ status: 400, message });
};
const timeOf = (seconds: number | null): string | null =>
  seconds === null ? null : new Date(seconds * 1000).toISOString();

const shown = (batch: SimulatedBatch, url: string): JsonObject => {
  const { id, status, lines, succeeded, errored, createdAt, endedAt, cancellingAt, expiresAt } = batch;
  const isOver = OVER.has(status);
  const rest = lines.length - succeeded - errored;
  return {
    id,
    type: 'message_batch',
    processing_status: isOver ? 'ended' : status === 'cancelling' ? 'canceling' : 'in_progress',
    request_counts: {
      processing: isOver ? 0 : lines.length,
      succeeded: isOver ? succeeded : 0,
      errored: isOver ? errored : 0,
      canceled: status === 'cancelled' ? rest : 0,
      expired: status === 'expired' ? rest : 0,
    },
    created_at: timeOf(createdAt),
    ended_at: isOver ? timeOf(endedAt) : null,
    expires_at: timeOf(expiresAt),
    archived_at: null,
    cancel_initiated_at: timeOf(cancellingAt),
    results_url: isOver ? `${url}/v1/messages/batches/${id}/results` : null,
  };
};

/** `POST /v1/messages/batches` */
export const createMessageBatch: Handler = (call) => {
  const { provider } = call;
  const { requests, ...others } = readJson(call);
  const [other] = Object.keys(others);
  if (other !== undefined) refuse(`${other}: Extra inputs are not permitted`);
  if (!Array.isArray(requests)) refuse('requests: Field required');
  const list = asList(requests);
  if (list.length === 0) refuse('requests: List should have at least 1 item after validation, not 0');
  if (list.length > MAX_REQUESTS) refuse(`requests: List should have at most ${MAX_REQUESTS} items`);
  const customIds = new Set<string>();
  const lines = list.map((entry, at) => {
    const { custom_id: customId, params, ...rest } = asObject(entry);
    if (typeof customId !== 'string' || !CUSTOM_ID.test(customId))
      refuse(`requests.${at}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`);
    if (!isObject(params)) refuse(`requests.${at}.params: Field required`);
    const [extra] = Object.keys(rest);
    if (extra !== undefined) refuse(`requests.${at}.${extra}: Extra inputs are not permitted`);
    if (asObject(params).stream === true)
      refuse(`requests.${at}.params.stream: Streaming is not supported in batches`);
    if (customIds.has(asText(customId))) refuse(`requests.${at}.custom_id: Duplicate custom_id`);
    customIds.add(asText(customId));
    return { customId: asText(customId), body: asObject(params) };
  });
  const createdAt = provider.nowSeconds();
  const batch: SimulatedBatch = {
    id: provider.ids.next('msgbatch_'),
    createdAt,
    expiresAt: createdAt + DAY_SECONDS,
    endpoint: '/v1/messages',
    lines,
    inputFileId: null,
    metadata: null,
    problems: [],
    status: 'in_progress',
    cancellingAt: null,
    endedAt: null,
    succeeded: 0,
    errored: 0,
    outputFileId: null,
    errorFileId: null,
    results: null,
  };
  provider.batches.batches.set(batch.id, batch);
  return jsonReply(shown(batch, provider.url()));
};

const ofMessages = ({ provider }: Call): SimulatedBatch[] =>
  [...provider.batches.batches.values()].filter(({ inputFileId }) => inputFileId === null);

const find = (call: Call): SimulatedBatch => {
  const [id = ''] = call.params;
  const batch = ofMessages(call).find((one) => one.id === id);
  if (batch !== undefined) return batch;
  throw new ProviderError({ status: 404, message: `No message batch with id ${id} was found.` });
};

/** `GET /v1/messages/batches` */
export const listMessageBatches: Handler = async (call) => {
  for (const batch of ofMessages(call)) await advance(call.provider, batch);
  const { query } = call.request;
  const { items, hasMore } = pageOf(ofMessages(call), query, query.get('after_id'));
  return jsonReply({
    data: items.map((batch) => shown(batch, call.provider.url())),
    has_more: hasMore,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
  });
};

/** `GET /v1/messages/batches/{id}`: it gets on when it is looked at. */
export const getMessageBatch: Handler = async (call) => {
  const batch = find(call);
  await advance(call.provider, batch);
  return jsonReply(shown(batch, call.provider.url()));
};

/** `POST /v1/messages/batches/{id}/cancel` */
export const cancelMessageBatch: Handler = (call) => {
  const batch = find(call);
  if (OVER.has(batch.status)) refuse('This message batch has already ended.');
  batch.status = 'cancelling';
  batch.cancellingAt ??= call.provider.nowSeconds();
  return jsonReply(shown(batch, call.provider.url()));
};

/** `DELETE /v1/messages/batches/{id}` */
export const deleteMessageBatch: Handler = (call) => {
  const { id, status } = find(call);
  if (!OVER.has(status)) refuse('A message batch that is in progress cannot be deleted.');
  call.provider.batches.batches.delete(id);
  return jsonReply({ id, type: 'message_batch_deleted' });
};

/** `GET /v1/messages/batches/{id}/results` */
export const getMessageResults: Handler = (call) => {
  const { results } = find(call);
  if (results === null)
    throw new ProviderError({ status: 404, message: 'The results are not available yet.' });
  return { status: 200, contentType: 'application/x-jsonl', chunks: [results], isStream: false };
};
