import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TextBatchInput } from '@gateway/contracts/jobs';
import { wishesOf } from '@gateway/model-service/jobs/job-wishes';
import { reserveSlot, submitJob } from '@gateway/model-service/jobs/submit-job';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import type { BatchRecord } from '../../batches/batch-records.ts';
import { storedHeaders } from '../background/stored-headers.ts';
import type { TextBatchService } from './batch-service.ts';
import { LINE_ENDPOINTS } from './text-lines.ts';

/** Then what has not begun of a batch is not begun. */
export const LIFETIME_MS = 24 * 3_600_000;
/** Lines that have begun end, and results are put together, within this time. */
export const ENDING_MS = 3 * 3_600_000;

/** A batch, as it was requested. */
export interface NewBatch
  extends Pick<TextBatchInput, 'endpoint' | 'face' | 'fileId' | 'lines' | 'metadata' | 'resultSeconds'> {
  /** What its job is listed under. */
  readonly model: string;
  /** The same for the same request. */
  readonly fingerprint: () => string | Promise<string>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Queues a batch whose lines lie in a file. A request whose idempotency key has one gets that one. */
export async function createBatch(service: TextBatchService, made: NewBatch): Promise<BatchRecord> {
  const { records, files, queue, now } = service;
  const { request, response, fingerprint, ...batch } = made;
  const { keyId } = identityOf(request);
  const { line } = contextOf(request);
  const { applied: _, ...requested } = wishesOf(request);
  // It always goes on without its caller, and nobody waits for it.
  const wishes = { ...requested, isDetached: true, waitMs: 0, applied: null };
  const createdAtMs = now();
  const untilMs = createdAtMs + LIFETIME_MS;
  await using slot = await reserveSlot({ queue }, { kind: 'text.batch', wishes, request });
  if (!(await files.hold(batch.fileId, untilMs + ENDING_MS))) throw forgotten();
  const input = { ...batch, createdAtMs, untilMs, headers: storedHeaders(request.headers) };
  const { handle, isNew } = await submitJob(
    { ...service, upstream: service.services.upstream },
    {
      kind: 'text.batch',
      endpoint: 'batch',
      estimate: null,
      input,
      slot,
      wishes,
      fingerprint,
      request,
      response,
    },
  );
  handle.leave();
  const { id } = handle;
  line.jobId = id;
  if (!isNew && batch.face === 'anthropic') await files.discard(batch.fileId);
  try {
    if (isNew) await records.create(id, { ...input, keyId });
    const found = await records.find(id);
    if (found === undefined) throw beingMade();
    return found;
  } catch (error) {
    // Who has not learned of it sends it again: it would be done and billed twice.
    if (isNew && wishes.idempotencyKey === null)
      queue.cancelSubmitted('text.batch', id).catch(service.onError);
    throw error;
  }
}

/** @throws {GatewayError} `endpoint_not_allowed` where the key may not use what the lines of a batch name */
export function checkEndpoint(request: IncomingMessage, url: string): void {
  const scope = LINE_ENDPOINTS.get(url)?.scope;
  const { endpoints } = identityOf(request);
  if (scope === undefined || endpoints === null || endpoints.includes(scope)) return;
  throw new GatewayError('endpoint_not_allowed', {
    path: ['endpoint'],
    message: `Your key may not call ${url}. Ask the person who gave you the key.`,
  });
}

/** Its job is there, and what callers see of it is not yet. */
const beingMade = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'Another request with the same Idempotency-Key is creating the batch. Please try again shortly.',
    retryAfterSeconds: 1,
  });

const forgotten = (): GatewayError =>
  new GatewayError('object_not_found', 'The file of the batch was deleted meanwhile.');
