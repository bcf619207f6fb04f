import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind, MediaBatchKind } from '@gateway/contracts/jobs';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { errorResponse, openaiError } from '@gateway/service-kit/error-response';
import { contextOf } from '@gateway/service-kit/request/request-context';
import type { BatchResults } from '../jobs/job-handlers.ts';
import { namesId, namesIn } from './batch-file.ts';
import type { BatchService, LineKind } from './batch-service.ts';

type Shown<Kind extends LineKind, Batch extends MediaBatchKind> = Pick<
  BatchService<Kind, Batch>,
  'queue' | 'assets' | 'bodies' | 'now'
>;

/** The results of batches: one line of JSON for each of theirs, in their order, put together from their own jobs. */
export const batchResults = <Kind extends LineKind, Batch extends MediaBatchKind>(
  service: Shown<Kind, Batch>,
): BatchResults => ({
  open: async (batch) => {
    const names = await service.assets.open(namesId(batch.id));
    if (names === undefined) return undefined;
    return async (request, response) => {
      const { requestId } = contextOf(request);
      response.writeHead(200, {
        'content-type': 'application/jsonl',
        'cache-control': 'no-store',
        'x-request-id': requestId,
        'request-id': requestId,
        'x-gateway-job': batch.id,
      });
      // The file is closed also where the reader has left before its first line.
      await pipeline(names.stream(), (lines) => resultLines(service, batch, lines), response);
    };
  },
  remove: (batch) => service.assets.delete(namesId(batch.id)),
});

async function* resultLines<Kind extends LineKind, Batch extends MediaBatchKind>(
  service: Shown<Kind, Batch>,
  batch: FoundJob,
  names: AsyncIterable<Buffer>,
): AsyncGenerator<string> {
  let index = 0;
  for await (const name of namesIn(names)) {
    const id = lineJobId(batch.id, index);
    index += 1;
    yield `{"id":"${id}","custom_id":${JSON.stringify(name)},`;
    const record = await service.queue.find(id, batch.keyId);
    yield* record === undefined ? notBegun(batch) : outcomeOf(service, record);
    yield '}\n';
  }
}

async function* outcomeOf<Kind extends LineKind, Batch extends MediaBatchKind>(
  service: Shown<Kind, Batch>,
  record: FoundJob,
): AsyncGenerator<string> {
  if (!hasEnded(record))
    return yield withError(
      'job_not_finished',
      `The line is still in progress. Fetch its job '${record.id}' later.`,
    );
  if (record.status === 'cancelled')
    return yield withError('job_cancelled', 'The batch was cancelled before the line started.');
  if (record.error !== null) return yield refusal(GatewayError.deserialize(record.error));
  const body = await bodyOf(service, record).catch(() => undefined);
  if (body === undefined) return yield refusal(expired());
  yield '"response":{"status_code":200,"body":';
  yield* body;
  yield '},"error":null';
}

/** A line's reply; undefined where it has gone. @throws where something that belongs to it has */
async function bodyOf<Kind extends LineKind, Batch extends MediaBatchKind>(
  { queue, bodies, now }: Shown<Kind, Batch>,
  { id, kind: known, expiresAtMs }: FoundJob,
): Promise<AsyncIterable<string> | undefined> {
  const kind = queue.kinds.filter((one) => isLine(one, bodies)).find((one) => one === known);
  if (kind === undefined || expiresAtMs === null || expiresAtMs <= now()) return undefined;
  const write = bodies[kind];
  if (write === undefined) return undefined;
  const pieces = write(await queue.outputOf(kind, id))[Symbol.asyncIterator]();
  const first = await pieces.next();
  return (async function* () {
    if (!first.done) yield first.value;
    yield* { [Symbol.asyncIterator]: () => pieces };
  })();
}

const isLine = <Kind extends LineKind>(
  kind: JobKind,
  bodies: { readonly [Each in Kind]?: unknown },
): kind is Kind => Object.hasOwn(bodies, kind);

const refusal = (error: GatewayError): string => {
  const { status, body } = errorResponse(error, 'openai', '');
  return `"response":{"status_code":${status},"body":${asJson(body)}},"error":null`;
};

/** A provider's error is relayed as it came, and may be anything. */
function asJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return JSON.stringify(body);
  }
}

const withError = (code: string, message: string): string =>
  `"response":null,"error":${JSON.stringify({ code, message })}`;

/** A line that has no job, and why its batch never took it. */
function* notBegun({ status, error }: FoundJob): Generator<string> {
  if (status === 'cancelled')
    yield withError('job_cancelled', 'The batch was cancelled before the line started.');
  else if (error !== null) {
    const { message } = openaiError(GatewayError.deserialize(error));
    yield withError(error.code, `The batch ended before the line started: ${message}`);
  } else
    yield withError(
      'batch_expired',
      'The line had not started a day after the batch was created. Send it again.',
    );
}

const expired = (): GatewayError =>
  new GatewayError('result_expired', 'The result of this line has expired or was removed.');
