import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { TextResponseOutput } from '@gateway/contracts/jobs';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import type { JobProcessor } from '@gateway/jobs/worker/job-processor';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { Candidate } from '@gateway/upstream/candidate';
import type { BackgroundResponse, Ending } from '../../background/background-responses.ts';
import { giveBack } from '../../call/accounting/give-back.ts';
import { resultOf } from '../../call/accounting/metered-call.ts';
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
import { type MemoryExchange, openMemoryExchange } from './memory-exchange.ts';
import { type RecordedEnd, recordEvents } from './record-events.ts';
import { responseIdOf } from './response-id.ts';

/**
 * How a background response is generated: as for a caller who waits, over an exchange within this process. A provider is
 * called for it once; where its worker dies after that, nobody knows what it has cost, and it fails.
 */
export const runResponse = (access: BackgroundAccess): JobProcessor<'text.response'> => ({
  run: async (input, { jobId, requestId, signal, consumed, account }) => {
    const id = responseIdOf(jobId);
    const exchange = await openMemoryExchange({
      method: 'POST',
      path: '/v1/responses',
      // The next worker delivers it again: what this one has locked is that one's too.
      headers: { ...input.headers, [INTERNAL_HEADERS.delivery]: jobId },
    });
    signal.addEventListener('abort', exchange.leave, { once: true });
    let call: TextCall | null = null;
    consumed(null);
    try {
      call = await openJobCall(input, { services: access.services, exchange, requestId });
      const candidates = candidatesFor(call);
      const begun = { id, accepted: await begin(access, id, signal), candidates, exchange };
      consumed(undefined);
      const generated = await generate(access, call, begun);
      const { usage, thrown, origin } = generated;
      consumed(usage);
      if (thrown !== undefined) throw thrown;
      const { end, headers } = await generated.recording;
      if (end === null) throw call.context.failure ?? withoutEnd();
      const after = conversationIn(call.history);
      await account(end.status === 'failed' ? (call.context.failure ?? withoutEnd()) : undefined);
      await completeBackground(access, { id, accepted: begun.accepted, end, usage, headers, origin, after });
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
      signal.removeEventListener('abort', exchange.leave);
      exchange.leave();
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

/** From then on a provider may be called. @throws {GatewayError} where nobody wants the response any more */
async function begin(
  { responses }: BackgroundAccess,
  id: string,
  signal: AbortSignal,
): Promise<BackgroundResponse> {
  const accepted = await responses.find(id);
  signal.throwIfAborted();
  if (accepted === null || !(await responses.begin(id)))
    throw new GatewayError('job_cancelled', 'The response was cancelled or deleted before it was started.');
  return accepted;
}

interface Generating {
  readonly id: string;
  /** As it was when it was begun. */
  readonly accepted: BackgroundResponse;
  readonly candidates: readonly Candidate[];
  readonly exchange: MemoryExchange;
}

interface Generated {
  readonly usage: UsageResult;
  /** What failed before anything was generated. */
  readonly thrown: unknown;
  /** Rejects where the exchange was left, or the events could not be stored. */
  readonly recording: Promise<Recording>;
  readonly origin: ResponseOrigin;
}

interface Recording extends Pick<Ending, 'headers'> {
  readonly end: RecordedEnd | null;
}

async function generate(
  access: BackgroundAccess,
  opened: TextCall,
  generating: Generating,
): Promise<Generated> {
  const { candidates, exchange } = generating;
  const recording = record(access, generating);
  // Nobody takes what is generated from then on.
  recording.then(({ end }) => end ?? exchange.leave(), exchange.leave);
  const { call, outcome } = await answerCall(opened, { candidates, holdsStart: true });
  outcome.end();
  const { identity, request } = call;
  return {
    usage: resultOf(call, outcome),
    thrown: outcome.thrown,
    recording,
    origin: {
      ...(outcome.candidate === null
        ? { keyId: identity.keyId, channel: '', model: request.model, requestedModel: request.model }
        : originAt(outcome.candidate, identity.keyId)),
      isProviders: false,
    },
  };
}

async function record(
  { responses }: BackgroundAccess,
  { id, accepted: { keepsEvents, response }, exchange }: Generating,
): Promise<Recording> {
  const reply = await exchange.reply;
  const log = keepsEvents ? responses : null;
  const end = await recordEvents({ reply, id, accepted: response ?? {}, log });
  return { end, headers: shownHeaders(reply.headers) };
}

const SHOWN_HEADERS = ['x-gateway-channel', 'x-gateway-dropped'] as const;

const shownHeaders = (headers: Readonly<Record<string, unknown>>): Ending['headers'] =>
  Object.fromEntries(
    SHOWN_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );

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
