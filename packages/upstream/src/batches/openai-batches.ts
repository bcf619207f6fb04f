import { z } from 'zod';
import type { Account, Channel } from '../configuration/configuration.ts';
import { multipartBody } from '../requests/multipart-body.ts';
import type { BatchApi, BatchResult, BatchState, FoundBatch } from './batch-api.ts';
import { HOUR_MS, openBatchRequests } from './batch-requests.ts';

interface Paths {
  readonly files: string;
  readonly batches: string;
}

/** The member of a batch's metadata by which it is found again. */
const NAME = 'gateway_batch';
/** Files of batches that nobody has come back to. */
const UPLOADED_SECONDS = 3 * 86_400;
const PAGE = 100;
/** Of the newest batches and files of an account, that one is looked for among. */
const MAX_PAGES = 20;

const Id = z.object({ id: z.string().min(1) });
const Failure = z.object({ message: z.string().nullish(), code: z.string().nullish() });
const Batch = z.object({
  id: z.string().min(1),
  status: z.string(),
  errors: z.object({ data: z.array(Failure).nullish() }).nullish(),
  input_file_id: z.string().nullish(),
  output_file_id: z.string().nullish(),
  error_file_id: z.string().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  request_counts: z
    .object({ total: z.int().min(0), completed: z.int().min(0), failed: z.int().min(0) })
    .nullish(),
});
type Batch = z.infer<typeof Batch>;
const File = z.object({ id: z.string().min(1), filename: z.string().nullish() });
const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), has_more: z.boolean().nullish() });

const Line = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.int().min(100).max(599) }).nullish(),
  error: Failure.nullish(),
});

/** How it calls lines that were not run. */
const NOT_RUN: Readonly<Record<string, 'expired' | 'canceled'>> = {
  batch_expired: 'expired',
  batch_cancelled: 'canceled',
};
const OVER: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** Batches in OpenAI's form: a file of lines is uploaded, and two with results are fetched. */
export function openOpenaiBatches(channel: Channel, account: Account, { files, batches }: Paths): BatchApi {
  const requests = openBatchRequests(channel, account, 'chat');

  const pages = async function* <Item extends z.ZodType<{ id: string }>>(
    path: string,
    item: Item,
    signal: AbortSignal,
  ): AsyncGenerator<z.output<Item>> {
    let after = '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const sign = path.includes('?') ? '&' : '?';
      const { data, has_more: hasMore } = await requests.json(pageOf(item), {
        path: `${path}${sign}limit=${PAGE}${after}`,
        signal,
      });
      yield* data;
      const last = data.at(-1);
      if (!hasMore || last === undefined) return;
      after = `&after=${encodeURIComponent(last.id)}`;
    }
  };

  return {
    form: 'openai',
    needsOneModel: true,
    maxLines: 50_000,
    maxBytes: 200_000_000,
    maxInputs: 50_000,
    frame: { head: '', between: '\n', tail: '\n' },
    line: ({ id, url, body }) => `{"custom_id":"${id}","method":"POST","url":"${url}","body":${body}}`,
    upload: async ({ name, path, sizeBytes }, signal) => {
      const form = multipartBody([
        { name: 'purpose', value: 'batch' },
        { name: 'expires_after[anchor]', value: 'created_at' },
        { name: 'expires_after[seconds]', value: String(UPLOADED_SECONDS) },
        { name: 'file', path, fileName: `${name}.jsonl`, contentType: 'application/jsonl', sizeBytes },
      ]);
      const { contentType } = form;
      const sent = {
        method: 'POST',
        path: files,
        body: form,
        contentType,
        limitMs: HOUR_MS,
        signal,
      } as const;
      return (await requests.json(Id, sent)).id;
    },
    dropUpload: async (name, signal) => {
      for await (const file of pages(`${files}?purpose=batch`, File, signal)) {
        if (file.filename !== `${name}.jsonl`) continue;
        await requests.send({ method: 'DELETE', path: `${files}/${encodeURIComponent(file.id)}`, signal });
      }
    },
    create: async ({ name, url, uploadId, headers }, signal) => {
      const body = JSON.stringify({
        input_file_id: uploadId,
        endpoint: url,
        completion_window: '24h',
        metadata: { [NAME]: name },
      });
      return (await requests.json(Id, { method: 'POST', path: batches, headers, body, signal })).id;
    },
    find: async ({ name }, signal): Promise<FoundBatch> => {
      for await (const { id, metadata } of pages(batches, Batch, signal))
        if (metadata?.[NAME] === name) return { id };
      return 'none';
    },
    look: async (id, signal) =>
      stateOf(await requests.json(Batch, { path: `${batches}/${encodeURIComponent(id)}`, signal })),
    cancel: (id, signal) =>
      requests.send({ method: 'POST', path: `${batches}/${encodeURIComponent(id)}/cancel`, signal }),
    results: (place, signal) =>
      requests.bytes({ path: `${files}/${encodeURIComponent(place)}/content`, limitMs: HOUR_MS, signal }),
    readResult: (bytes, readMember): BatchResult => {
      const { custom_id: id, response, error } = Line.parse(JSON.parse(bytes.toString()));
      const notRun = NOT_RUN[error?.code ?? ''];
      if (notRun !== undefined) return { id, type: notRun };
      if (response)
        return {
          id,
          type: 'answered',
          status: response.status_code,
          body: readMember(readMember(bytes, 'response'), 'body'),
        };
      const { message = null, code = null } = error ?? {};
      const body = JSON.stringify({
        error: { message: message ?? '', type: 'server_error', param: null, code },
      });
      return { id, type: 'answered', status: 500, body: Buffer.from(body) };
    },
    remove: (fileId, signal) =>
      requests.send({ method: 'DELETE', path: `${files}/${encodeURIComponent(fileId)}`, signal }),
    close: requests.close,
  };
}

function stateOf(batch: Batch): BatchState {
  const { id, status, request_counts: counts, errors } = batch;
  const results = [batch.output_file_id, batch.error_file_id].flatMap((file) => file || []);
  return {
    id,
    isOver: OVER.has(status),
    // One that was ended early has nothing of lines that it did not come to.
    tellsAll: status === 'completed',
    ...(counts && { counts }),
    results,
    leftovers: [...results, ...(batch.input_file_id ? [batch.input_file_id] : [])],
    problem: status === 'failed' ? (errors?.data?.[0]?.message ?? 'no reason given') : null,
  };
}
