import type { Identity } from '@gateway/contracts/identity';
import type { TextResponseInput } from '@gateway/contracts/jobs';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { EventCaller } from '@gateway/model-service/event-caller';
import { type OpenedContext, openRequest } from '@gateway/service-kit/request/request-context';
import { holdCall, openReadCall } from '../../call/open-call.ts';
import { describeBody } from '../../call/request/read-text-request.ts';
import type { OpenedCall, TextCall, TextServices } from '../../call/request/text-call.ts';
import { RESPONSES, type TextEndpoint } from '../../call/request/text-endpoint.ts';
import { bytesOfJob } from './background-body.ts';

interface QueuedRequest {
  readonly endpoint: TextEndpoint;
  readonly identity: Identity;
  readonly bytes: Buffer;
}

interface QueuedOptions {
  readonly services: TextServices;
  readonly caller: EventCaller;
  readonly requestId: string;
  /** The job's. */
  readonly trace?: RequestTrace | undefined;
}

/** Requests of jobs end with their jobs. */
const NO_DEADLINE = new AbortController().signal;

/** The context of a request that waited in a queue, until its caller is gone or has its answer. */
export function openQueuedContext({
  identity,
  caller,
  ...request
}: Pick<QueuedRequest, 'identity'> & Omit<QueuedOptions, 'services'>): OpenedContext {
  const { context, close } = openRequest(caller.url, {
    ...{ requestId: request.requestId, identity, trace: request.trace },
    deadline: NO_DEADLINE,
  });
  caller.onClosed(() => close(caller.hasEnded));
  return context;
}

/** A request that waited in a queue: checked again, because the configuration may have changed since it was accepted. */
export async function openQueuedCall(
  { endpoint, identity, bytes }: QueuedRequest,
  { services, caller, requestId, trace }: QueuedOptions,
): Promise<OpenedCall> {
  const waiting = { owner: identity.keyId };
  const request = await describeBody(endpoint, bytes, services.maxJsonDepth, waiting);
  const context = openQueuedContext({ identity, caller, requestId, trace });
  const startedAt = performance.now();
  return openReadCall({
    services,
    endpoint,
    identity,
    context,
    caller,
    entry: undefined,
    request,
    startedAt,
  });
}

interface JobOptions extends QueuedOptions {
  readonly uploads: Pick<UploadStore, 'pathOf'>;
}

/** A background response's request on its way. It has the conversation that it goes on from, if any, until that is released. */
export async function openJobCall(
  { identity, ...input }: TextResponseInput,
  { uploads, ...options }: JobOptions,
): Promise<TextCall> {
  const bytes = await bytesOfJob(input, uploads);
  const opened = await openQueuedCall({ endpoint: RESPONSES, identity, bytes }, options);
  const call = await holdCall(opened, 'generating');
  // Kept under the id that the gateway gave it, by the job itself.
  return { ...call, reservation: null, history: { ...call.history, storing: 'unwanted' } };
}
