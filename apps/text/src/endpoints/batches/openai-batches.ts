import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { BatchListQuery, type BatchObject, BatchRequest } from '@gateway/contracts/openai/batches';
import { fingerprintOfJson } from '@gateway/model-service/jobs/fingerprint';
import { type Handler, type PathParams, parsedQuery } from '@gateway/service-kit/request/handler';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { jobIdOfBatch } from '../../batches/batch-id.ts';
import type { BatchRecord } from '../../batches/batch-records.ts';
import { MAX_FILE_SECONDS } from '../../batches/stored-files.ts';
import { fileNotFound, listOf, send, unknownCursor } from '../files/file-handlers.ts';
import { batchObject, batchStatus } from './batch-object.ts';
import type { TextBatchService } from './batch-service.ts';
import { checkEndpoint, createBatch } from './create-batch.ts';
import { cancelBatch, findBatch, finishLater } from './open-batches.ts';

const DEFAULT_PAGE = 20;
const MAX_REQUEST_BYTES = 64 * 1024;

/** `/v1/batches`: a key finds its own batches; any other id answers 404. */
export function openaiBatches(service: TextBatchService): Readonly<Record<string, Handler>> {
  const { files, records, queue, services } = service;
  const find = (request: IncomingMessage, params: PathParams) =>
    findBatch(service, { face: 'openai', id: String(params.id), request });
  const shown = async (batch: BatchRecord): Promise<BatchObject> => {
    const job = batch.end === null ? await queue.find(batch.id, batch.keyId) : undefined;
    return batchObject(batch, job?.counts);
  };
  return {
    'POST /v1/batches': async (request, response) => {
      const { value } = await readJsonBody(request, {
        maxBytes: MAX_REQUEST_BYTES,
        maxDepth: services.maxJsonDepth,
      });
      const requested = validate(BatchRequest, value);
      const { input_file_id: fileId, endpoint } = requested;
      checkEndpoint(request, endpoint);
      const file = await files.find(fileId, identityOf(request).keyId);
      if (file === undefined) throw fileNotFound(fileId, ['input_file_id']);
      if (file.purpose !== 'batch') throw otherPurpose(file.purpose);
      const batch = await createBatch(service, {
        face: 'openai',
        endpoint,
        fileId,
        model: file.filename.slice(0, MAX_SHOWN) || endpoint,
        metadata: requested.metadata ?? null,
        resultSeconds: requested.output_expires_after?.seconds ?? MAX_FILE_SECONDS,
        lines: null,
        fingerprint: () => fingerprintOfJson('text.batch', value),
        request,
        response,
      });
      const object = await shown(batch);
      contextOf(request).line.batchId = object.id;
      send(response, request, object);
    },
    'GET /v1/batches': async (request, response) => {
      const { limit = DEFAULT_PAGE, after } = validate(BatchListQuery, parsedQuery(request));
      const cursor = after === undefined ? undefined : (jobIdOfBatch('openai', after) ?? after);
      const page = await records.list(identityOf(request).keyId, 'openai', { limit, after: cursor });
      if (page === undefined) throw unknownCursor('batch');
      send(response, request, listOf(await Promise.all(page.objects.map(shown)), page.hasMore));
    },
    'GET /v1/batches/{id}': async (request, response, params) => {
      const batch = await find(request, params);
      finishLater(service, batch);
      send(response, request, await shown(batch));
    },
    'POST /v1/batches/{id}/cancel': async (request, response, params) => {
      const batch = await find(request, params);
      if (batch.end !== null && batch.end.status !== 'cancelled') throw hasEndedAs(batchStatus(batch));
      send(response, request, await shown(await cancelBatch(service, batch)));
    },
  };
}

const MAX_SHOWN = 200;

const otherPurpose = (purpose: string): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['input_file_id'],
    message: `The file's purpose is '${purpose}'. Upload the lines of a batch with the purpose 'batch'.`,
  });

export const hasEndedAs = (status: string): GatewayError =>
  new GatewayError('conflict', `The batch has ended already: its status is '${status}'.`);
