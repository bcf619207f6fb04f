import type { IncomingMessage, ServerResponse } from 'node:http';
import { CONTENT_LOG_HEADER } from '@gateway/contracts/content-log';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind } from '@gateway/contracts/jobs';
import { WEBHOOK_HEADER } from '@gateway/contracts/webhooks';
import type { JobInput, JobOutput } from '@gateway/jobs/catalog';
import type { JobHandle } from '@gateway/jobs/queue/job-handle';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { QueueSlot } from '@gateway/jobs/queue/queue-slots';
import { newJobId } from '@gateway/jobs/redis/job-keys';
import type { Meter } from '@gateway/metering/meter/meter';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import type { Upstream } from '@gateway/upstream/upstream';
import { HttpCaller } from '../caller.ts';
import { chooseContent } from '../content-log/choose-content.ts';
import { type CostlyRequest, reserveJob, turnTaker, turnTakerOf } from '../metered-request.ts';
import type { JobMetrics } from './job-metrics.ts';
import type { JobWishes } from './job-wishes.ts';

/** What it takes to make jobs for callers. */
export interface JobService<Kinds extends JobKind> {
  readonly queue: JobQueue<Kinds>;
  readonly meter: Meter;
  readonly jobMetrics: JobMetrics;
  readonly upstream: Pick<Upstream, 'configuration'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface Submission<Kind extends JobKind>
  extends Omit<CostlyRequest, 'caller' | 'identity' | 'context' | 'model' | 'estimate'> {
  /** Null for a job that costs nothing by itself. */
  readonly estimate: CostlyRequest['estimate'] | null;
  readonly kind: Kind;
  readonly input: JobInput<Kind>;
  /** What `reserveSlot` gave. */
  readonly slot: QueueSlot | undefined;
  readonly wishes: JobWishes;
  /** The same for the same request; called where it has an idempotency key. */
  readonly fingerprint: () => string | Promise<string>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface SubmittedJob<Output> {
  readonly handle: JobHandle<Output>;
  readonly wishes: JobWishes;
  /** False: an earlier request with the same idempotency key made it. */
  readonly isNew: boolean;
}

/**
 * Keeps a slot in the queue, before the files of a request are read. One that repeats another needs none.
 *
 * @throws {GatewayError} `queue_full`, `service_unavailable`
 */
export async function reserveSlot<Kinds extends JobKind>(
  { queue }: Pick<JobService<Kinds>, 'queue'>,
  { kind, wishes, request }: { kind: Kinds; wishes: JobWishes; request: IncomingMessage },
): Promise<QueueSlot | undefined> {
  const { idempotencyKey } = wishes;
  const known = idempotencyKey && (await queue.claims.jobOf(identityOf(request).keyId, idempotencyKey));
  return known ? undefined : queue.reserveSlot(kind, turnTakerOf(request));
}

/**
 * Makes the job of a request: reserves what it may cost and queues it. A request whose idempotency key has a job joins that
 * one, and nothing is reserved.
 *
 * @throws {GatewayError} where a limit or a budget does not cover it; `idempotency_key_reused`, `queue_full`, `storage_full`
 */
export async function submitJob<Kinds extends JobKind, Kind extends Kinds>(
  service: JobService<Kinds>,
  submission: Submission<Kind>,
): Promise<SubmittedJob<JobOutput<Kind>>> {
  const {
    kind,
    input,
    slot,
    wishes,
    fingerprint,
    request,
    response,
    endpoint,
    estimate,
    names = {},
  } = submission;
  const { queue } = service;
  const { isDetached, idempotencyKey, webhook } = wishes;
  const [identity, context] = [identityOf(request), contextOf(request)];
  const { keyId, signsWebhooks = false } = identity;
  const contentLog = contentWish(service, submission);
  if (webhook !== null && !signsWebhooks) throw noWebhookSecret();
  const jobId = newJobId();
  let claim: string | undefined;
  if (idempotencyKey !== null) {
    const claimed = await queue.claims.claim({
      keyId,
      idempotencyKey,
      fingerprint: await fingerprint(),
      jobId,
    });
    if (!claimed.isNew) {
      await slot?.free();
      service.jobMetrics.requested({ kind, mode: 'detached', job: 'joined' });
      return { handle: await queue.attach(kind, claimed.record.id), wishes, isNew: false };
    }
    claim = claimed.claim;
  }
  try {
    const owner =
      estimate === null
        ? { id: jobId, ...turnTaker(identity), requestId: context.requestId, trace: context.trace }
        : await reserveJob(
            service,
            kind,
            {
              endpoint,
              model: input.model,
              estimate,
              names,
              caller: new HttpCaller(response),
              identity,
              context,
            },
            { jobId, isDetached },
          );
    const handle = await queue.enqueue(kind, input, {
      ...owner,
      isDetached,
      ...(contentLog && { contentLog }),
      ...(claim && { claim }),
      ...(webhook !== null && { webhook }),
      ...(slot && { slot }),
    });
    service.jobMetrics.requested({ kind, mode: isDetached ? 'detached' : 'waiting', job: 'new' });
    return { handle, wishes, isNew: true };
  } catch (error) {
    // Where Redis did not answer, the job may be queued all the same: the next request with this key finds out.
    const mayBeQueued = error instanceof GatewayError && error.code === 'service_unavailable';
    if (claim !== undefined && !mayBeQueued) await queue.claims.release(claim, jobId);
    throw error;
  }
}

const noWebhookSecret = (): GatewayError =>
  new GatewayError('invalid_value', {
    path: [WEBHOOK_HEADER],
    message: `Your key has no secret to sign webhooks with. Ask the person who gave you the key to create one, or omit ${WEBHOOK_HEADER}.`,
  });

/** Whether its caller keeps the job out of the content log. @throws {GatewayError} where a rule does not allow that */
function contentWish<Kind extends JobKind>(
  { upstream }: Pick<JobService<Kind>, 'upstream'>,
  { request, input, estimate }: Pick<Submission<Kind>, 'request' | 'input' | 'estimate'>,
): 'off' | undefined {
  const { headers } = request;
  if (headers[CONTENT_LOG_HEADER] === undefined) return undefined;
  // Lines of a batch name their own models, and are refused one by one.
  if (estimate === null) return 'off';
  const { requestId: id } = contextOf(request);
  chooseContent(upstream.configuration, { identity: identityOf(request), model: input.model, headers, id });
  return 'off';
}
