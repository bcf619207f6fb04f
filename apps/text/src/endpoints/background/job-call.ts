import type { TextResponseInput } from '@gateway/contracts/jobs';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { openRequest } from '@gateway/service-kit/request/request-context';
import { modelFor } from '@gateway/upstream/model-for';
import { findHistory } from '../../call/history/find-history.ts';
import { holdCall } from '../../call/open-call.ts';
import { describeBody } from '../../call/request/read-text-request.ts';
import type { TextCall, TextServices } from '../../call/request/text-call.ts';
import { RESPONSES as endpoint } from '../../call/request/text-endpoint.ts';
import { bytesOfJob } from './background-body.ts';
import type { RecordingCaller } from './recording-caller.ts';

interface JobOptions {
  readonly services: TextServices;
  readonly uploads: Pick<UploadStore, 'pathOf'>;
  readonly caller: RecordingCaller;
  readonly requestId: string;
}

/** Requests of jobs end with their jobs. */
const NO_DEADLINE = new AbortController().signal;

/**
 * A job's request on its way: checked again, because the configuration may have changed since it was accepted. It has the
 * conversation that it goes on from, if any, until that is released.
 */
export async function openJobCall(
  { identity, model: name, ...input }: TextResponseInput,
  { services, uploads, caller, requestId }: JobOptions,
): Promise<TextCall> {
  const waiting = { owner: identity.keyId };
  const bytes = await bytesOfJob(input, uploads);
  const request = await describeBody(endpoint, bytes, services.maxJsonDepth, waiting);
  const protocols = [endpoint.protocol, ...endpoint.translatedTo];
  const model = modelFor(services.upstream, { name, protocols, identity });
  const { context, close } = openRequest(caller.url, { requestId, identity, deadline: NO_DEADLINE });
  caller.onClosed(() => close(caller.hasEnded));
  const from = { services, endpoint, identity, context, caller, request };
  const history = await findHistory(from);
  const opened = { ...from, entry: undefined, model, history, startedAt: performance.now() };
  const call = await holdCall(opened, 'generating');
  // Kept under the id that the gateway gave it, by the job itself.
  return { ...call, reservation: null, history: { ...call.history, storing: 'unwanted' } };
}
