import { checkOpenAi, missingParameter } from '../checks/check-openai.ts';
import { readForm } from '../checks/read-form.ts';
import { readJson } from '../checks/read-json.ts';
import { asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { pageOf, type SimulatedBatch, type UploadedFile } from './batch-store.ts';
import { advance, LINE_HANDLERS } from './run-batch.ts';

const DAY_SECONDS = 86_400;
const MAX_LINES = 50_000;
/** Texts to embed in all lines together. */
const MAX_INPUTS = 50_000;
const [MIN_EXPIRY_SECONDS, MAX_EXPIRY_SECONDS] = [3600, 30 * DAY_SECONDS];

const shownFile = ({ id, filename, purpose, bytes, createdAt, expiresAt }: UploadedFile): JsonObject => ({
  id,
  object: 'file',
  bytes: bytes.length,
  created_at: createdAt,
  expires_at: expiresAt,
  filename,
  purpose,
  status: 'processed',
  status_details: null,
});

const findFile = ({ provider, params: [id = ''] }: Call): UploadedFile => {
  const file = provider.batches.files.get(id);
  if (file !== undefined) return file;
  throw new ProviderError({ status: 404, message: `No such File object: ${id}`, param: 'id' });
};

/** `POST /v1/files` */
export const createFile: Handler = async (call) => {
  const { provider } = call;
  const form = await readForm(call);
  const file = form.get('file');
  const purpose = form.get('purpose');
  if (!(file instanceof File)) throw missingParameter('file');
  if (purpose === null) throw missingParameter('purpose');
  if (purpose !== 'batch')
    throw invalidRequest(`'${String(purpose)}' is not one of ['batch']`, 'invalid_value', 'purpose');
  const seconds = form.get('expires_after[seconds]');
  const anchor = form.get('expires_after[anchor]');
  const life = Number(seconds);
  const isLife = Number.isInteger(life) && life >= MIN_EXPIRY_SECONDS && life <= MAX_EXPIRY_SECONDS;
  if ((seconds !== null || anchor !== null) && (anchor !== 'created_at' || !isLife))
    throw invalidRequest('Invalid expires_after.', 'invalid_value', 'expires_after');
  const createdAt = provider.nowSeconds();
  const id = provider.ids.next('file-');
  const stored = {
    id,
    filename: file.name,
    purpose,
    bytes: Buffer.from(await file.arrayBuffer()),
    createdAt,
    expiresAt: seconds === null ? null : createdAt + life,
  };
  provider.batches.files.set(id, stored);
  return jsonReply(shownFile(stored));
};

/** `GET /v1/files` */
export const listFiles: Handler = ({ provider, request }) => {
  const purpose = request.query.get('purpose');
  const files = [...provider.batches.files.values()].filter(
    (file) => (purpose ?? file.purpose) === file.purpose,
  );
  const { items, hasMore } = pageOf(files, request.query);
  return jsonReply({ object: 'list', data: items.map(shownFile), has_more: hasMore, ...endsOf(items) });
};

/** `GET /v1/files/{id}` */
export const getUploadedFile: Handler = (call) => jsonReply(shownFile(findFile(call)));

/** `DELETE /v1/files/{id}` */
export const deleteFile: Handler = (call) => {
  const { id } = findFile(call);
  call.provider.batches.files.delete(id);
  return jsonReply({ id, object: 'file', deleted: true });
};

/** `GET /v1/files/{id}/content` */
export const getFileContent: Handler = (call) => ({
  status: 200,
  contentType: 'application/octet-stream',
  chunks: [findFile(call).bytes],
  isStream: false,
});

const endsOf = (items: readonly { readonly id: string }[]): JsonObject => ({
  first_id: items[0]?.id ?? null,
  last_id: items.at(-1)?.id ?? null,
});

const shownBatch = (batch: SimulatedBatch): JsonObject => {
  const { status, endedAt, createdAt, cancellingAt, lines, succeeded, errored, problems } = batch;
  const endedAs = (name: SimulatedBatch['status']) => (status === name ? endedAt : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors: status === 'failed' ? { object: 'list', data: problems } : null,
    input_file_id: batch.inputFileId,
    completion_window: '24h',
    status,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    created_at: createdAt,
    in_progress_at: status === 'validating' ? null : createdAt,
    expires_at: batch.expiresAt,
    finalizing_at: endedAs('completed'),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: cancellingAt,
    cancelled_at: endedAs('cancelled'),
    request_counts: {
      total: status === 'failed' ? 0 : lines.length,
      completed: succeeded,
      failed: errored,
    },
    metadata: batch.metadata,
  };
};

/** What is wrong with the lines of a file, as the provider finds out before the first one is run. */
function readLines(bytes: Buffer, endpoint: string) {
  const lines: { customId: string; body: JsonObject }[] = [];
  const problems: JsonObject[] = [];
  const customIds = new Set<string>();
  const models = new Set<string>();
  let inputs = 0;
  const texts = bytes
    .toString()
    .split('\n')
    .filter((text) => text.trim() !== '');
  for (const [at, text] of texts.entries()) {
    const refuse = (code: string, message: string, param: string | null = null) =>
      problems.push({ code, message, param, line: at + 1 });
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch {
      refuse('invalid_json_line', 'This line is not parseable as valid JSON.');
      continue;
    }
    const { custom_id: customId, method, url, body, ...others } = asObject(line);
    const { model, stream, input } = asObject(body);
    inputs += Array.isArray(input) ? input.length : 1;
    if (Object.keys(others).length > 0) refuse('unknown_parameter', 'Unknown member of a line.');
    if (typeof customId !== 'string' || customId === '')
      refuse('missing_required_parameter', 'No custom_id.');
    if (customIds.has(asText(customId)))
      refuse('duplicate_custom_id', `The custom_id ${customId} was used before.`);
    if (method !== 'POST') refuse('invalid_method', 'The method is not POST.');
    if (url !== endpoint) refuse('mismatched_url', `The URL is not that of the batch, ${endpoint}.`);
    if (!isObject(body)) refuse('missing_required_parameter', 'No body.');
    if (stream === true) refuse('invalid_value', 'Streaming is not supported in batches.');
    customIds.add(asText(customId));
    models.add(asText(model));
    lines.push({ customId: asText(customId), body: asObject(body) });
  }
  if (texts.length === 0)
    problems.push({ code: 'empty_file', message: 'The file is empty.', param: null, line: null });
  if (texts.length > MAX_LINES)
    problems.push({
      code: 'too_many_tasks',
      message: 'The file has too many lines.',
      param: null,
      line: null,
    });
  if (endpoint === '/v1/embeddings' && inputs > MAX_INPUTS)
    problems.push({
      code: 'too_many_inputs',
      message: `The lines have more than ${MAX_INPUTS} inputs to embed.`,
      param: null,
      line: null,
    });
  if (models.size > 1)
    problems.push({
      code: 'mismatched_model',
      message: 'All lines must name one model.',
      param: 'model',
      line: null,
    });
  return { lines, problems };
}

/** `POST /v1/batches` */
export const createBatch: Handler = (call) => {
  const { provider } = call;
  const body = readJson(call);
  checkOpenAi(
    body,
    {
      input_file_id: { kind: 'string', required: true },
      endpoint: { kind: 'one-of', values: [...LINE_HANDLERS.keys()], required: true },
      completion_window: { kind: 'one-of', values: ['24h'], required: true },
      metadata: { kind: 'object' },
      output_expires_after: { kind: 'object' },
    },
    true,
  );
  const metadata = isObject(body.metadata) ? body.metadata : null;
  const pairs = Object.entries(metadata ?? {});
  if (
    pairs.length > 16 ||
    pairs.some(([name, value]) => name.length > 64 || typeof value !== 'string' || value.length > 512)
  )
    throw invalidRequest('Invalid metadata.', 'invalid_value', 'metadata');
  const fileId = asText(body.input_file_id);
  const file = provider.batches.files.get(fileId);
  if (file === undefined || file.purpose !== 'batch')
    throw invalidRequest(`Invalid file ID: ${fileId}.`, 'invalid_value', 'input_file_id');
  const endpoint = asText(body.endpoint);
  const createdAt = provider.nowSeconds();
  const batch: SimulatedBatch = {
    id: provider.ids.next('batch_'),
    createdAt,
    expiresAt: createdAt + DAY_SECONDS,
    endpoint,
    ...readLines(file.bytes, endpoint),
    inputFileId: fileId,
    metadata,
    status: 'validating',
    cancellingAt: null,
    endedAt: null,
    succeeded: 0,
    errored: 0,
    outputFileId: null,
    errorFileId: null,
    results: null,
  };
  provider.batches.batches.set(batch.id, batch);
  return jsonReply(shownBatch(batch));
};

const ofOpenai = (call: Call): SimulatedBatch[] =>
  [...call.provider.batches.batches.values()].filter(({ inputFileId }) => inputFileId !== null);

const findBatch = (call: Call): SimulatedBatch => {
  const [id = ''] = call.params;
  const batch = ofOpenai(call).find((one) => one.id === id);
  if (batch !== undefined) return batch;
  throw new ProviderError({ status: 404, message: `No batch found with id '${id}'.` });
};

/** `GET /v1/batches` */
export const listBatches: Handler = async (call) => {
  for (const batch of ofOpenai(call)) await advance(call.provider, batch);
  const { items, hasMore } = pageOf(ofOpenai(call), call.request.query);
  return jsonReply({ object: 'list', data: items.map(shownBatch), has_more: hasMore, ...endsOf(items) });
};

/** `GET /v1/batches/{id}`: it gets on when it is looked at. */
export const getBatch: Handler = async (call) => {
  const batch = findBatch(call);
  await advance(call.provider, batch);
  return jsonReply(shownBatch(batch));
};

/** `POST /v1/batches/{id}/cancel` */
export const cancelBatch: Handler = (call) => {
  const batch = findBatch(call);
  if (batch.status !== 'validating' && batch.status !== 'in_progress')
    throw new ProviderError({
      status: 409,
      message: `Cannot cancel a batch with status '${batch.status}'.`,
    });
  batch.status = 'cancelling';
  batch.cancellingAt = call.provider.nowSeconds();
  return jsonReply(shownBatch(batch));
};
