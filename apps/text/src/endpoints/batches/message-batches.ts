import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type MessageBatch, MessageBatchListQuery } from '@gateway/contracts/anthropic/message-batches';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { type Handler, type PathParams, parsedQuery } from '@gateway/service-kit/request/handler';
import { refuseEncoding } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { batchIdOf, jobIdOfBatch } from '../../batches/batch-id.ts';
import type { BatchRecord } from '../../batches/batch-records.ts';
import { type FileService, send, unknownCursor } from '../files/file-handlers.ts';
import type { TextBatchService } from './batch-service.ts';
import { checkEndpoint, createBatch, LIFETIME_MS } from './create-batch.ts';
import { cancelBatch, findBatch, finishLater } from './open-batches.ts';
import { hasEndedAs } from './openai-batches.ts';
import { MESSAGES_URL, receiveMessages } from './receive-messages.ts';

const DEFAULT_PAGE = 20;
/** As Anthropic has it, from the end of a batch on. */
const RESULT_SECONDS = 29 * 86_400;

interface Options {
  readonly service: TextBatchService & Pick<FileService, 'fileBytesPerKey'>;
  /** Where callers reach the gateway; undefined: where their request says. */
  readonly publicUrl: string | undefined;
}

/** `/v1/messages/batches`: a key finds its own batches; any other id answers 404. */
export function messageBatches({ service, publicUrl }: Options): Readonly<Record<string, Handler>> {
  const { files, records, fileBytesPerKey, now } = service;
  const find = (request: IncomingMessage, params: PathParams) =>
    findBatch(service, { face: 'anthropic', id: String(params.id), request });
  const shown = (batch: BatchRecord, request: IncomingMessage) =>
    messageBatch(batch, publicUrl ?? addressOf(request));
  return {
    'POST /v1/messages/batches': async (request, response) => {
      try {
        checkEndpoint(request, MESSAGES_URL);
        checkContentType(request.headers['content-type']);
        refuseEncoding(request);
        await files.ensureRoom(identityOf(request).keyId, fileBytesPerKey);
      } catch (error) {
        discardRest(request);
        throw error;
      }
      const received = await receiveMessages(request, service, now() + LIFETIME_MS);
      const { fileId, lines, model, fingerprint } = received;
      try {
        const batch = await createBatch(service, {
          face: 'anthropic',
          endpoint: MESSAGES_URL,
          fileId,
          model,
          lines,
          metadata: null,
          resultSeconds: RESULT_SECONDS,
          fingerprint: () => `text.batch ${fingerprint}`,
          request,
          response,
        });
        const object = shown(batch, request);
        Object.assign(contextOf(request).line, { batchId: object.id, lines });
        send(response, request, object);
      } catch (error) {
        // Where Redis did not answer, the batch may have been made all the same.
        const mayBeMade = error instanceof GatewayError && error.code === 'service_unavailable';
        if (!mayBeMade) await files.discard(fileId).catch(service.onError);
        throw error;
      }
    },
    'GET /v1/messages/batches': async (request, response) => {
      const query = validate(MessageBatchListQuery, parsedQuery(request));
      const { limit = DEFAULT_PAGE, after_id: after, before_id: before } = query;
      const page = await records.list(identityOf(request).keyId, 'anthropic', {
        limit,
        after: after && (jobIdOfBatch('anthropic', after) ?? after),
        before: before && (jobIdOfBatch('anthropic', before) ?? before),
      });
      if (page === undefined) throw unknownCursor('batch');
      const data = page.objects.map((batch) => shown(batch, request));
      send(response, request, {
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: page.hasMore,
      });
    },
    'GET /v1/messages/batches/{id}': async (request, response, params) => {
      const batch = await find(request, params);
      finishLater(service, batch);
      send(response, request, shown(batch, request));
    },
    'POST /v1/messages/batches/{id}/cancel': async (request, response, params) => {
      const batch = await find(request, params);
      if (batch.end !== null) throw hasEndedAs('ended');
      send(response, request, shown(await cancelBatch(service, batch), request));
    },
    'DELETE /v1/messages/batches/{id}': async (request, response, params) => {
      const batch = await find(request, params);
      if (batch.end === null) throw notEnded();
      for (const fileId of Object.values(batch.end.files)) await files.remove(fileId);
      await records.remove(batch);
      send(response, request, { id: batchIdOf('anthropic', batch.id), type: 'message_batch_deleted' });
    },
    'GET /v1/messages/batches/{id}/results': async (request, response, params) => {
      const batch = await find(request, params);
      if (batch.end === null) throw notEnded();
      const fileId = batch.end.files.results;
      const file = fileId === undefined ? undefined : await files.find(fileId, batch.keyId);
      const asset = file && (await files.open(file.id));
      if (asset === undefined)
        throw new GatewayError('result_expired', 'The results of this batch have expired.');
      const { requestId } = contextOf(request);
      response.writeHead(200, {
        'content-type': 'application/x-jsonl',
        'content-length': asset.sizeBytes,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': requestId,
        'request-id': requestId,
      });
      await pipeline(asset.stream(), response);
    },
  };
}

/** A batch as Anthropic's clients see it. */
function messageBatch(batch: BatchRecord, address: string): MessageBatch {
  const { end, lines, cancellingAtMs, createdAtMs, untilMs } = batch;
  const id = batchIdOf('anthropic', batch.id);
  const running = end === null ? (lines ?? 0) : 0;
  const outcomes = end?.outcomes ?? { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  const timeOf = (ms: number) => new Date(ms).toISOString();
  const isCanceling = cancellingAtMs !== null;
  return {
    id,
    type: 'message_batch',
    processing_status: end !== null ? 'ended' : isCanceling ? 'canceling' : 'in_progress',
    request_counts: { processing: running, ...outcomes },
    created_at: timeOf(createdAtMs),
    ended_at: end === null ? null : timeOf(end.atMs),
    expires_at: timeOf(untilMs),
    archived_at: null,
    cancel_initiated_at: isCanceling ? timeOf(cancellingAtMs) : null,
    results_url: end === null ? null : `${address.replace(/\/+$/, '')}/v1/messages/batches/${id}/results`,
  };
}

/** The address that a caller used. */
function addressOf({ headers }: IncomingMessage): string {
  const first = (value: string | string[] | undefined) => [value].flat()[0]?.split(',')[0]?.trim();
  const protocol = first(headers['x-forwarded-proto']) === 'https' ? 'https' : 'http';
  return `${protocol}://${first(headers['x-forwarded-host']) ?? headers.host ?? '127.0.0.1'}`;
}

function checkContentType(contentType: string | undefined): void {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? 'none';
  if (type === 'application/json') return;
  throw new GatewayError(
    'unsupported_content_type',
    `Unsupported content type: '${type}'. This endpoint takes 'application/json'.`,
  );
}

const notEnded = (): GatewayError =>
  new GatewayError('job_not_finished', 'The batch has not ended yet. Try again later, or cancel it first.');
