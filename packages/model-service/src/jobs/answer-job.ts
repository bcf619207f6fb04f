import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind } from '@gateway/contracts/jobs';
import type { JobHandle } from '@gateway/jobs/queue/job-handle';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { Delivery } from '@gateway/jobs/results/kept-results';
import {
  contextOf,
  endedRequest,
  identityOf,
  type RequestContext,
} from '@gateway/service-kit/request/request-context';
import { jobPath, publicJob } from './public-job.ts';
import type { SubmittedJob } from './submit-job.ts';

interface AnswerOptions<Output> {
  readonly queue: Pick<JobQueue<JobKind>, 'find' | 'positionOf' | 'publicPath'>;
  readonly submitted: SubmittedJob<Output>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Answers with what waiting gives. */
  readonly write: (output: Output) => Promise<Delivery>;
}

/**
 * Answers a request that is done by a job: with its result, or with the job where the caller does not want to wait for so
 * long. A caller who leaves cancels it, unless the job is detached.
 *
 * @throws {GatewayError} the job's failure
 */
export async function answerJob<Output>(options: AnswerOptions<Output>): Promise<void> {
  const { submitted, request, response, write } = options;
  const context = contextOf(request);
  showJob(submitted, context, response);
  const { handle, wishes } = submitted;
  if (wishes.waitMs === 0) {
    handle.leave();
    return accept(options);
  }
  const result = await resultWithin(handle, wishes.waitMs, context.signal).catch((error: unknown) => {
    throw endedRequest(context) ?? error;
  });
  if (result === undefined) await accept(options);
  else handle.delivered(await write(result.output));
}

/** Names the job of a request in the reply's headers and in the log line. */
export function showJob(
  { handle, wishes, isNew }: Pick<SubmittedJob<unknown>, 'handle' | 'wishes' | 'isNew'>,
  context: RequestContext,
  response: ServerResponse,
): void {
  context.mayBePaid = true;
  // What the job needs of it is stored.
  context.load?.dropBody();
  context.line.jobId = handle.id;
  if (!isNew) context.line.joined = true;
  if (wishes.applied !== null) {
    context.line.preference = wishes.applied;
    response.setHeader('preference-applied', wishes.applied);
  }
  response.setHeader('x-gateway-job', handle.id);
}

/** The result, if it comes in time. */
async function resultWithin<Output>(
  handle: JobHandle<Output>,
  waitMs: number | null,
  signal: AbortSignal,
): Promise<{ readonly output: Output } | undefined> {
  const result = handle.result(signal).then((output) => ({ output }));
  if (waitMs === null) return result;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), waitMs);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
    result.catch(() => undefined);
    handle.leave();
  }
}

/** Answers with the job, and waits no longer. */
export async function acceptJob<Output>(options: Omit<AnswerOptions<Output>, 'write'>): Promise<void> {
  const { submitted, request, response } = options;
  showJob(submitted, contextOf(request), response);
  submitted.handle.leave();
  await accept(options);
}

async function accept<Output>({
  queue,
  submitted,
  request,
  response,
}: Omit<AnswerOptions<Output>, 'write'>): Promise<void> {
  const { id } = submitted.handle;
  const record = await queue.find(id, identityOf(request).keyId);
  if (record === undefined)
    throw new GatewayError('internal', {
      message: 'The job was created but cannot be found. Report the request id.',
      retry: false,
    });
  const { requestId } = contextOf(request);
  const body = JSON.stringify(await publicJob(queue, record));
  response.writeHead(202, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    location: queue.publicPath + jobPath(record),
    'x-request-id': requestId,
    'request-id': requestId,
  });
  response.end(body);
}
