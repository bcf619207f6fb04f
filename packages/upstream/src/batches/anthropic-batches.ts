import { createReadStream } from 'node:fs';
import { z } from 'zod';
import type { Account, Channel } from '../configuration/configuration.ts';
import type { BatchApi, BatchResult, BatchState, FoundBatch } from './batch-api.ts';
import { HOUR_MS, openBatchRequests } from './batch-requests.ts';

const Counts = z.object({
  processing: z.int().min(0),
  succeeded: z.int().min(0),
  errored: z.int().min(0),
  canceled: z.int().min(0),
  expired: z.int().min(0),
});
const Batch = z.object({
  id: z.string().min(1),
  processing_status: z.enum(['in_progress', 'canceling', 'ended']),
  request_counts: Counts,
  created_at: z.string(),
});
type Batch = z.infer<typeof Batch>;
const Page = z.object({ data: z.array(Batch), has_more: z.boolean(), last_id: z.string().nullish() });

const Line = z.object({
  custom_id: z.string(),
  result: z.discriminatedUnion('type', [
    z.object({ type: z.literal('succeeded'), message: z.unknown() }),
    z.object({ type: z.literal('errored'), error: z.object({ error: z.object({ type: z.string() }) }) }),
    z.object({ type: z.literal('canceled') }),
    z.object({ type: z.literal('expired') }),
  ]),
});

/** The statuses that its errors have outside of batches. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
};

const PAGE = 100;
const MAX_PAGES = 20;
/** Its clock and ours may differ by as much. */
const CLOCK_MS = 5 * 60_000;

/** Batches in Anthropic's form: one request has all lines, and one answer all results. */
export function openAnthropicBatches(channel: Channel, account: Account, batches: string): BatchApi {
  const requests = openBatchRequests(channel, account, 'messages');
  const pathOf = (id: string, rest = ''): string => `${batches}/${encodeURIComponent(id)}${rest}`;
  const resultsOf = (id: string, signal: AbortSignal) =>
    requests.bytes({ path: pathOf(id, '/results'), limitMs: HOUR_MS, signal });

  /** Nothing of ours is in it but the ids of its lines, which it tells when it is over. */
  const isOurs = async (id: string, isOur: (lineId: string) => boolean, signal: AbortSignal) => {
    for await (const chunk of resultsOf(id, signal)) {
      const lineId = /"custom_id"\s*:\s*"([\w-]{1,64})"/.exec(chunk.toString('latin1'))?.[1];
      if (lineId !== undefined) return isOur(lineId);
    }
    return false;
  };

  return {
    form: 'anthropic',
    needsOneModel: false,
    maxLines: 100_000,
    maxBytes: 256_000_000,
    maxInputs: Number.POSITIVE_INFINITY,
    frame: { head: '{"requests":[', between: ',', tail: ']}' },
    line: ({ id, body }) => `{"custom_id":"${id}","params":${body}}`,
    upload: async () => null,
    dropUpload: async () => undefined,
    create: async ({ file, headers }, signal) => {
      if (file === null) throw new Error('a batch without its lines');
      const { path, sizeBytes } = file;
      const body = { open: () => createReadStream(path), sizeBytes };
      const sent = { method: 'POST', path: batches, headers, body, limitMs: HOUR_MS, signal } as const;
      return (await requests.json(Batch, sent)).id;
    },
    find: async ({ lines, sinceMs, isOurs: isOur }, signal): Promise<FoundBatch> => {
      let after = '';
      let isUndecided = false;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const path = `${batches}?limit=${PAGE}${after}`;
        const { data, has_more: hasMore, last_id: lastId } = await requests.json(Page, { path, signal });
        const young = data.filter(({ created_at: at }) => !(Date.parse(at) < sinceMs - CLOCK_MS));
        for (const batch of young) {
          if (totalOf(batch) !== lines) continue;
          if (batch.processing_status !== 'ended') isUndecided = true;
          else if (await isOurs(batch.id, isOur, signal)) return { id: batch.id };
        }
        if (!hasMore || !lastId || young.length < data.length) break;
        after = `&after_id=${encodeURIComponent(lastId)}`;
      }
      return isUndecided ? 'undecided' : 'none';
    },
    look: async (id, signal) => stateOf(await requests.json(Batch, { path: pathOf(id), signal })),
    cancel: (id, signal) => requests.send({ method: 'POST', path: pathOf(id, '/cancel'), signal }),
    results: resultsOf,
    readResult: (bytes, readMember): BatchResult => {
      const { custom_id: id, result } = Line.parse(JSON.parse(bytes.toString()));
      if (result.type === 'canceled' || result.type === 'expired') return { id, type: result.type };
      const sent = readMember(bytes, 'result');
      if (result.type === 'succeeded')
        return { id, type: 'answered', status: 200, body: readMember(sent, 'message') };
      const status = STATUSES[result.error.error.type] ?? 500;
      return { id, type: 'answered', status, body: readMember(sent, 'error') };
    },
    remove: (id, signal) => requests.send({ method: 'DELETE', path: pathOf(id), signal }),
    close: requests.close,
  };
}

const totalOf = ({ request_counts: counts }: Batch): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

function stateOf(batch: Batch): BatchState {
  const { id, processing_status: status, request_counts: counts } = batch;
  const isOver = status === 'ended';
  return {
    id,
    isOver,
    tellsAll: true,
    ...(isOver && {
      counts: {
        total: totalOf(batch),
        completed: counts.succeeded,
        failed: totalOf(batch) - counts.succeeded,
      },
    }),
    results: isOver ? [id] : [],
    leftovers: [id],
    problem: null,
  };
}
