import { GatewayError } from '@gateway/contracts/gateway-error';
import type { EventFeed } from '@gateway/jobs/events/event-feed';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { unstarted } from '@gateway/jobs/queue/cancel-job';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import { newJobId } from '@gateway/jobs/redis/job-keys';
import { type ReservedJob, turnTaker } from '@gateway/model-service/metered-request';
import { deliveryOf } from '@gateway/service-kit/delivery';
import type { Candidate } from '@gateway/upstream/candidate';
import { type BackgroundResponses, unavailable } from '../../background/background-responses.ts';
import { followResponse } from '../../background/follow-response.ts';
import { giveBack } from '../../call/accounting/give-back.ts';
import { reserveForJob } from '../../call/accounting/metered-call.ts';
import { eventStreamHead, jsonHead } from '../../call/attempts/reply-head.ts';
import { holdCall } from '../../call/open-call.ts';
import { conversationIn } from '../../call/request/history.ts';
import { describeBody } from '../../call/request/read-text-request.ts';
import { NOTHING_HELD, type OpenedCall, waitingFor } from '../../call/request/text-call.ts';
import { storesResponses, UNSTORED_HEADER } from '../../call/storing/store-response.ts';
import { queuedResponse } from '../../protocols/responses/reply/response-object.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { inputChecked, prepareFor } from '../answer-call.ts';
import { type BackgroundBody, backgroundBody, discardBody, jobBody } from './background-body.ts';
import { ACCEPTED_EVENTS } from './recording-caller.ts';
import { deliveredJobId, responseIdOf } from './response-id.ts';
import { storeAccepted } from './store-background.ts';
import { storedHeaders } from './stored-headers.ts';

/** What it takes to have responses generated in the background, and to show them. */
export interface Acceptance {
  readonly responses: BackgroundResponses;
  readonly queue: Pick<JobQueue<'text.response'>, 'reserveSlot' | 'submit' | 'cancelSubmitted' | 'find'>;
  readonly feed: EventFeed;
  /** Where the bodies of large requests wait. */
  readonly uploads: UploadStore;
}

/** Whether a candidate's provider generates and keeps background responses itself. */
export const doesBackground = (candidate: Candidate): boolean =>
  storesResponses(candidate) && candidate.route.quirks.backgroundResponses;

/** The best candidate decides. A conversation that is stored here is held until the response has ended: by a worker. */
export const isDoneByProvider = ({ history }: OpenedCall, [best]: readonly Candidate[]): boolean =>
  best === undefined || (doesBackground(best) && conversationIn(history) === null);

/**
 * Accepts a response that a worker generates, and answers at once: with the queued response, or with its events as they
 * come.
 *
 * @throws {GatewayError} for what no candidate can serve, before anything is reserved or stored; where a limit or a budget does not
 * cover it; `queue_full`
 */
export async function acceptResponse(
  call: OpenedCall,
  candidates: readonly Candidate[],
  { responses, queue, feed, uploads }: Acceptance,
): Promise<void> {
  const { context, request, caller, services } = call;
  if (call.history.storing !== 'wanted') throw notStored(request.stored);
  const delivery = deliveryOf(call.caller)?.id ?? null;
  const jobId = delivery === null ? newJobId() : deliveredJobId(delivery);
  const id = responseIdOf(jobId);
  const made = await newResponse(call, { id, jobId });
  const access = { responses, queue, uploads };
  const before = delivery === null ? null : await acceptedBefore(call, access, made);
  const accepted = before ?? (await accept(call, access, { ...made, candidates }));

  Object.assign(context.line, { responseId: id, jobId, usagePending: true });
  if (!request.streamed) {
    await giveBack({ ...call, ...NOTHING_HELD });
    caller.begin(200, { ...jsonHead(context), ...(accepted.store === false && UNSTORED_HEADER) });
    caller.end(JSON.stringify(accepted));
    return;
  }
  const { keepAliveMs } = services;
  const headers = eventStreamHead(context);
  const beforeEnd = () => giveBack({ ...call, ...NOTHING_HELD });
  const stream = { responses, feed, id, after: -1, caller, context, headers, keepAliveMs, beforeEnd };
  await followResponse(stream).catch((cause: unknown) => {
    throw unread(id, cause);
  });
}

/** @throws {GatewayError} the reason of the best candidate, where none can get the request */
async function refuseUnservable(
  call: OpenedCall,
  written: string | Buffer,
  candidates: readonly Candidate[],
): Promise<void> {
  const { endpoint, services } = call;
  const bytes = typeof written === 'string' ? Buffer.from(written) : written;
  const request = await describeBody(endpoint, bytes, services.maxJsonDepth, waitingFor(call));
  const prepare = prepareFor({ ...call, ...NOTHING_HELD, reservation: null, request });
  let refusal: GatewayError | null = null;
  for (const candidate of candidates) {
    const prepared = await prepare(candidate);
    if (!(prepared instanceof GatewayError)) return;
    refusal ??= prepared;
  }
  if (refusal !== null) throw refusal;
}

/** The worker takes the conversation when it begins. @throws {GatewayError} `conversation_locked` where somebody has it now */
async function checkUnlocked(call: OpenedCall): Promise<void> {
  const { release } = await holdCall(call, 'generating');
  await release?.();
}

/**
 * The response of a request that was delivered before, to a replica that was lost after it had queued its job; null where there is
 * none, or no job of it.
 */
async function acceptedBefore(
  { identity }: OpenedCall,
  { responses, queue }: Pick<Acceptance, 'responses' | 'queue'>,
  { id, jobId, queued }: NewResponse,
): Promise<JsonObject | null> {
  const found = await responses.find(id).catch(rethrow);
  if (found === null || (await queue.find(jobId, identity.keyId)) === undefined) return null;
  return found.response ?? queued;
}

interface NewResponse {
  readonly id: string;
  readonly jobId: string;
  readonly body: BackgroundBody;
  /** What the caller gets first. */
  readonly queued: JsonObject;
}

async function newResponse(call: OpenedCall, ids: Pick<NewResponse, 'id' | 'jobId'>): Promise<NewResponse> {
  const read = backgroundBody(call);
  const body = read instanceof Promise ? await read : read;
  return { ...ids, body, queued: queuedFor(call, ids.id, body) };
}

const queuedFor = (
  { services, request, history }: OpenedCall,
  id: string,
  { echo }: BackgroundBody,
): JsonObject => ({
  ...queuedResponse({
    id,
    createdAt: Math.floor(services.now() / 1000),
    model: request.model,
    echo,
  }),
  ...(history.continued?.kind === 'conversation' && history.continued.members),
});

type StoringAccess = Pick<Acceptance, 'responses' | 'queue' | 'uploads'>;

/** Queues its job, once limits have let it in and hooks have let its texts pass. Resolves to the response as its caller sees it. */
async function accept(
  call: OpenedCall,
  access: StoringAccess,
  { candidates, ...made }: NewResponse & { readonly candidates: readonly Candidate[] },
): Promise<JsonObject> {
  const { id, jobId } = made;
  const written = made.body.written();
  await refuseUnservable(call, written, candidates);
  await checkUnlocked(call);
  await using slot = await access.queue.reserveSlot('text.response', turnTaker(call.identity));
  const owner = { ...(await reserveForJob(call, jobId)), slot };
  const checked = await inputChecked(call).catch(unreserving(call, owner));
  if (checked === call) return await store(call, access, { ...made, written, owner });
  const changed = await newResponse(checked, { id, jobId }).catch(unreserving(call, owner));
  return await store(checked, access, { ...changed, written: changed.body.written(), owner });
}

/** Gives back what was reserved for a job that will not be. */
const unreserving =
  ({ services }: OpenedCall, { metering }: ReservedJob) =>
  async (error: unknown): Promise<never> => {
    await services.meter.resume(metering.subject).release();
    throw error;
  };

interface NewJob extends Pick<NewResponse, 'id' | 'body' | 'queued'> {
  /** The body that the worker gets. */
  readonly written: string | Buffer;
  readonly owner: ReservedJob;
}

/**
 * The response first: a worker may take the job at once. What was reserved is released where anything fails. Resolves to
 * the response as its caller sees it.
 */
async function store(
  call: OpenedCall,
  { responses, queue, uploads }: StoringAccess,
  { id, written, body, queued, owner }: NewJob,
): Promise<JsonObject> {
  const { identity, request, caller, services, history } = call;
  const keepsEvents = request.streamed;
  const { metering } = owner;
  const remove = () =>
    Promise.allSettled([
      responses.remove(id),
      services.conversations.remove({ owner: history.owner, kind: 'response', id }),
    ]);
  const isKept = await storeAccepted(call, id, { accepted: queued, input: body.input }).catch(
    unreserving(call, owner),
  );
  const accepted = isKept ? queued : { ...queued, store: false };
  try {
    await responses.create(id, { owner: history.owner, response: accepted, isKept, keepsEvents });
    if (keepsEvents) {
      const rest = { response: accepted };
      await responses.append(
        id,
        ACCEPTED_EVENTS.map((type) => ({ type, rest })),
      );
    }
  } catch (cause) {
    const error = unavailable(cause);
    void services.meter.resume(metering.subject).settle(unstarted(metering, error));
    void remove();
    throw error;
  }
  const headers = storedHeaders(caller.headers);
  const { model } = request;
  try {
    const sent = await jobBody(written, uploads).catch(unreserving(call, owner));
    const input = { model, ...sent, headers, identity, keepsEvents };
    await queue.submit('text.response', input, owner).catch(async (error: unknown) => {
      await discardBody(sent, uploads);
      throw error;
    });
  } catch (error) {
    await remove();
    throw error;
  }
  return accepted;
}

const notStored = (isWanted: boolean) =>
  new GatewayError('invalid_value', {
    path: [isWanted ? 'background' : 'store'],
    message: isWanted
      ? "A background response must be stored, and nothing is stored for this key or this model. Leave out 'background'."
      : "A background response is read later, so it must be stored. Leave out 'store: false' or 'background'.",
  });

const rethrow = (cause: unknown): never => {
  throw unavailable(cause);
};

/** It has been accepted: the same request again would be another response. */
const unread = (id: string, cause: unknown) =>
  new GatewayError('service_unavailable', {
    message: `Response '${id}' was accepted, but its events cannot be read at the moment. Read it by its id.`,
    retry: false,
    cause,
  });
