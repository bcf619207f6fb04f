import { GatewayError } from '@gateway/contracts/gateway-error';
import type { MediaBatchKind } from '@gateway/contracts/jobs';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import type { Handler } from '@gateway/service-kit/request/handler';
import { refuseEncoding } from '@gateway/service-kit/request/json-body';
import { contextOf, endedRequest, identityOf } from '@gateway/service-kit/request/request-context';
import { acceptJob } from '../jobs/answer-job.ts';
import { isStrict, wishesOf } from '../jobs/job-wishes.ts';
import { reserveSlot, submitJob } from '../jobs/submit-job.ts';
import { receiveBatch } from './batch-file.ts';
import type { BatchService, LineKind } from './batch-service.ts';

/** Then what has not begun of a batch is not begun. */
const LIFETIME_MS = 24 * 3_600_000;

const CONTENT_TYPES: ReadonlySet<string> = new Set([
  'application/jsonl',
  'application/x-ndjson',
  'application/x-jsonlines',
  'application/octet-stream',
  'text/plain',
]);

/** `POST …/jobs`: checks and stores lines of JSON, and answers with the job of all of them. */
export const batchHandler =
  <Kind extends LineKind, Batch extends MediaBatchKind>(service: BatchService<Kind, Batch>): Handler =>
  async (request, response) => {
    const { kind, uploads, queue, now } = service;
    const context = contextOf(request);
    const { applied: _, ...requested } = wishesOf(request);
    // It always goes on without its caller, and nobody waits for it.
    const wishes = { ...requested, isDetached: true, waitMs: 0, applied: null };
    const strict = isStrict(request);
    const { fileId, lines, model, fingerprint } = await (async () => {
      checkContentType(request.headers['content-type']);
      refuseEncoding(request);
      return receiveBatch(request, { ...service, asker: { identity: identityOf(request), strict } });
    })().catch((error: unknown) => {
      discardRest(request);
      throw error;
    });
    Object.assign(context.line, { model, lines });
    let isQueued = false;
    try {
      const ended = endedRequest(context);
      if (ended) throw ended;
      await using slot = await reserveSlot(service, { kind, wishes, request });
      const submitted = await submitJob(service, {
        kind,
        endpoint: 'batch',
        estimate: null,
        input: { model, fileId, lines, untilMs: now() + LIFETIME_MS, strict },
        slot,
        wishes,
        fingerprint: () => `${kind} ${strict} ${fingerprint}`,
        request,
        response,
      });
      isQueued = submitted.isNew;
      await acceptJob({ queue, submitted, request, response });
    } finally {
      if (!isQueued) await uploads.delete(fileId);
    }
  };

function checkContentType(contentType: string | undefined): void {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? 'none';
  if (CONTENT_TYPES.has(type)) return;
  throw new GatewayError(
    'unsupported_content_type',
    `Unsupported content type: '${type}'. Send the lines as 'application/jsonl'.`,
  );
}
