import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { LoadGenerator, Workload } from './load.ts';

const CHAT = '/v1/chat/completions';
const LINES = 1000;
const LOOK_MS = 200;
const MS_PER_SECOND = 1000;

const Made = z.object({ id: z.string() });
const Batch = z.object({
  status: z.string(),
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
});
const ENDED = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** Has the same chat done by a batch of a thousand lines, from the upload of its file to its end: as the other generators send requests. */
export const batchLoad: LoadGenerator = {
  name: 'batch',
  run: async ({ url, headers: sent, body }: Workload) => {
    const { 'content-type': _, ...headers } = sent;
    const startedAt = performance.now();
    const file = new FormData();
    file.set('purpose', 'batch');
    file.set('file', new Blob([linesOf(body)]), 'lines.jsonl');
    const ask = async <Answer>(answer: z.ZodType<Answer>, path: string, init: RequestInit = {}) => {
      const reply = await fetch(new URL(path, url), { ...init, headers: { ...headers, ...init.headers } });
      if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
      return answer.parse(await reply.json());
    };
    const { id: fileId } = await ask(Made, '/v1/files', { method: 'POST', body: file });
    const { id } = await ask(Made, '/v1/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input_file_id: fileId, endpoint: CHAT, completion_window: '24h' }),
    });
    for (;;) {
      const { status, request_counts: counts } = await ask(Batch, `/v1/batches/${id}`);
      if (ENDED.has(status)) {
        const ms = performance.now() - startedAt;
        return {
          requests: counts.completed,
          requestsPerSecond: (counts.completed / ms) * MS_PER_SECOND,
          // What one line takes is nothing that anybody waits for.
          p50Ms: Number.NaN,
          p99Ms: Number.NaN,
          errors: LINES - counts.completed,
        };
      }
      await delay(LOOK_MS);
    }
  },
};

const linesOf = (body: string): string =>
  Array.from(
    { length: LINES },
    (_, n) => `{"custom_id":"line ${n}","method":"POST","url":"${CHAT}","body":${body}}`,
  ).join('\n');
