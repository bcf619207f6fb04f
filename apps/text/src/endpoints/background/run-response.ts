import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { TextResponseInput, TextResponseOutput } from '@gateway/contracts/jobs';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobProcessor } from '@gateway/jobs/worker/job-processor';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { Candidate } from '@gateway/upstream/candidate';
import type { BackgroundResponse } from '../../background/background-responses.ts';
import { giveBack } from '../../call/accounting/give-back.ts';
import { resultOf } from '../../call/accounting/metered-call.ts';
import { withContent } from '../../call/content/call-content.ts';
import { candidatesFor } from '../../call/open-call.ts';
import { conversationIn } from '../../call/request/history.ts';
import type { TextCall } from '../../call/request/text-call.ts';
import { originAt } from '../../stored/origins/maker.ts';
import type { ResponseOrigin } from '../../stored/response-record.ts';
import { unlockConversation } from '../../stored/stored-conversations.ts';
import { objectOf, textAt } from '../../wire/json-object.ts';
import { answerCall } from '../answer-call.ts';
import {
  type BackgroundAccess,
  completeBackground,
  failBackground,
  recoverBackground,
} from './end-background.ts';
import { openJobCall } from './job-call.ts';
import { RecordingCaller } from './recording-caller.ts';
import { responseIdOf } from './response-id.ts';

interface WorkerAccess extends BackgroundAccess {
  /** Where the bodies of large requests are. */
  readonly uploads: Pick<UploadStore, 'pathOf'>;
}

/**
 * How a background response is generated: as for a caller who waits, who is the record of its events. A provider is
 * called for it once; where its worker dies after that, nobody knows what it has cost, and it fails.
 */
export const runResponse = (access: WorkerAccess): JobProcessor<'text.response'> => ({
  run: async (input, { jobId, requestId, trace, signal, consumed, account }) => {
    const id = responseIdOf(jobId);
    const { services, responses, uploads } = access;
    let call: TextCall | null = null;
    let leave = () => undefined;
    consumed(null);
    try {
      const accepted = await responses.find(id);
      if (accepted === null) throw notStarted();
      const caller = callerOf(access, input, { jobId, accepted });
      leave = () => void caller.leave();
      signal.addEventListener('abort', leave, { once: true });
      const opened = await openJobCall(input, { services, uploads, caller, requestId, trace });
      const logged = withContent(opened, jobId);
      call = logged instanceof Promise ? await logged : logged;
      const candidates = candidatesFor(call);
      signal.throwIfAborted();
      if (!(await responses.begin(id))) throw notStarted();
      consumed(undefined);
      const { usage, origin, thrown } = await generate(call, candidates);
      consumed(usage);
      if (thrown !== undefined) throw thrown;
      const end = await caller.recorded();
      if (end === null) throw call.context.failure ?? withoutEnd();
      const after = conversationIn(call.history);
      await account(end.status === 'failed' ? (call.context.failure ?? withoutEnd()) : undefined);
      const headers = caller.shownHeaders;
      await completeBackground(access, { id, accepted, end, usage, headers, origin, after });
      if (end.status === 'failed') throw call.context.failure ?? withoutEnd();
      return outputOf(end.status, usage);
    } catch (thrown) {
      // Why it was stopped is known to the one who stopped it.
      if (!signal.aborted) {
        await Promise.all([account(toGatewayError(thrown)), call && giveBack(call)]);
        await failBackground(access, id, thrown);
      }
      throw thrown;
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
      call?.content?.cancel();
      if (call !== null) await giveBack(call);
    }
  },
  recover: async (_input, { jobId, consumed }) => {
    const recovered = await recoverBackground(access, responseIdOf(jobId));
    if (recovered === null) return undefined;
    consumed(recovered.usage);
    return outputOf(recovered.status, recovered.usage);
  },
  hasNotBegun: async (jobId) => (await access.responses.find(responseIdOf(jobId)))?.status === 'queued',
  // Its worker died, or was stopped; or Redis refused to keep its end.
  ended: async ({ jobId, error }) => {
    if (error === undefined) return;
    const id = responseIdOf(jobId);
    await untilStored(async () => {
      await freeConversation(access, id, jobId);
      if ((await recoverBackground(access, id)) === null) await failBackground(access, id, error);
    });
  },
});

/** A conversation is free when the end of its response is seen, though the worker that had locked it died. */
async function freeConversation(
  { services, responses }: BackgroundAccess,
  id: string,
  delivery: string,
): Promise<void> {
  const { owner, response } = (await responses.find(id)) ?? {};
  const conversation = textAt(objectOf(response?.conversation), 'id');
  if (owner === undefined || conversation === null) return;
  await unlockConversation(services.conversations, { owner, id: conversation, delivery });
}

/** Until when an end that Redis does not take is tried again, in milliseconds after it was tried last. */
const END_DELAYS_MS = [500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000];

/** A Redis that is full or away must not leave a response without an end: its readers would wait for ever. */
async function untilStored(end: () => Promise<void>): Promise<void> {
  for (const delayMs of END_DELAYS_MS) {
    try {
      return await end();
    } catch {
      await delay(delayMs, undefined, { ref: false });
    }
  }
  await end();
}

const callerOf = (
  { responses }: BackgroundAccess,
  { headers }: TextResponseInput,
  {
    jobId,
    accepted: { response, keepsEvents },
  }: { readonly jobId: string; readonly accepted: BackgroundResponse },
): RecordingCaller =>
  new RecordingCaller({
    id: responseIdOf(jobId),
    // The next worker delivers it again: what this one has locked is that one's too.
    headers: { ...headers, [INTERNAL_HEADERS.delivery]: jobId },
    accepted: response ?? {},
    log: keepsEvents ? responses : null,
  });

interface Generated {
  readonly usage: UsageResult;
  readonly origin: ResponseOrigin;
  /** What failed before anything was generated. */
  readonly thrown: unknown;
}

async function generate(opened: TextCall, candidates: readonly Candidate[]): Promise<Generated> {
  const { call, outcome } = await answerCall(opened, {
    candidates,
    holdsStart: true,
    isInputChecked: true,
  });
  outcome.end();
  const { identity, request } = call;
  const generated = {
    usage: resultOf(call, outcome),
    origin: {
      ...(outcome.candidate === null
        ? { keyId: identity.keyId, channel: '', model: request.model, requestedModel: request.model }
        : originAt(outcome.candidate, identity.keyId)),
      isProviders: false,
    },
    thrown: outcome.thrown,
  };
  call.content?.end(outcome);
  return generated;
}

const notStarted = (): GatewayError =>
  new GatewayError('job_cancelled', 'The response was cancelled or deleted before it was started.');

const withoutEnd = (): GatewayError =>
  new GatewayError('outcome_unknown', {
    message: 'The response was cut off. It was not repeated, because it may have been billed.',
    retry: false,
  });

function outputOf(
  status: string,
  { channel, attempts, consumption, costMicroUsd }: UsageResult,
): TextResponseOutput {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = consumption;
  return {
    status,
    channel,
    upstreamAttempts: attempts,
    inputTokens,
    cachedInputTokens,
    outputTokens,
    reasoningTokens,
    costMicroUsd,
  };
}
