import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TextResponseInput, TextResponseOutput } from '@gateway/contracts/jobs';
import type { UsageResult } from '@gateway/contracts/usage-record';
import type { JobAct } from '@gateway/jobs/job-act';
import { openContext } from '@gateway/service-kit/request-context';
import { modelFor } from '@gateway/upstream/model-for';
import type {
  BackgroundResponse,
  BackgroundResponses,
  Ending,
} from '../../background/background-responses.ts';
import { attemptCandidates } from '../../call/attempt-candidates.ts';
import { resultOf } from '../../call/metered-call.ts';
import { candidatesFor } from '../../call/open-call.ts';
import type { TextCall, TextServices } from '../../call/text-call.ts';
import { RESPONSES } from '../../call/text-endpoint.ts';
import { textRequestOf } from '../../call/text-request.ts';
import { encodeOpenAiError } from '../../protocols/responses/errors.ts';
import { prepareFor } from '../prepare-attempt.ts';
import { type MemoryExchange, openMemoryExchange } from './memory-exchange.ts';
import { type RecordedEnd, recordEvents } from './record-events.ts';
import { responseIdOf } from './response-id.ts';

interface RunOptions {
  readonly services: TextServices;
  readonly responses: BackgroundResponses;
}

/** Requests of jobs end with their jobs. */
const NO_DEADLINE = new AbortController().signal;

/**
 * How a background response is generated: as for a caller who waits, over an exchange within this process. A provider is
 * called for it once; where its worker dies after that, nobody knows what it has cost, and it fails.
 */
export const runResponse = ({ services, responses }: RunOptions): JobAct<'text.response'> => ({
  run: async (input, { jobId, requestId, signal, consumed }) => {
    const id = responseIdOf(jobId);
    const exchange = await openMemoryExchange({
      method: 'POST',
      path: '/v1/responses',
      headers: input.headers,
    });
    signal.addEventListener('abort', exchange.leave, { once: true });
    try {
      const call = openJobCall(input, { services, exchange, requestId });
      const { result, thrown, recording } = await generate(call, { id, exchange, responses, signal });
      consumed(result);
      if (thrown !== undefined) throw thrown;
      const { end, headers } = await recording;
      if (end === null) throw call.context.failure ?? withoutEnd();
      const { status, response, event } = end;
      await responses.end(id, { status, response, events: [event], usage: result, headers });
      if (status === 'failed') throw call.context.failure ?? withoutEnd();
      return outputOf(status, result);
    } catch (thrown) {
      // Why it was stopped is known to the one who stopped it.
      if (!signal.aborted) await fail(responses, id, thrown);
      throw thrown;
    } finally {
      signal.removeEventListener('abort', exchange.leave);
      exchange.leave();
    }
  },
  recover: async (_input, { jobId, consumed }) => {
    const known = await responses.find(responseIdOf(jobId));
    const usage = known?.ending?.usage;
    if (known === null || usage === undefined) return undefined;
    consumed(usage);
    return outputOf(known.status, usage);
  },
  hasNotBegun: async (jobId) => (await responses.find(responseIdOf(jobId)))?.status === 'queued',
  // Its worker died, or was stopped.
  ended: async ({ jobId, error }) => {
    if (error !== undefined) await fail(responses, responseIdOf(jobId), error);
  },
});

interface JobExchange {
  readonly services: TextServices;
  readonly exchange: MemoryExchange;
  readonly requestId: string;
}

function openJobCall(input: TextResponseInput, { services, exchange, requestId }: JobExchange): TextCall {
  const { message, response } = exchange;
  const { identity, model: name } = input;
  const bytes = Buffer.from(input.body);
  return {
    services,
    endpoint: RESPONSES,
    identity,
    context: openContext(message, response, { requestId, identity, deadline: NO_DEADLINE }),
    message,
    response,
    request: textRequestOf(RESPONSES, bytes, JSON.parse(input.body)),
    model: modelFor(services.upstream, {
      name,
      protocols: [RESPONSES.protocol, ...RESPONSES.translatedTo],
      identity,
    }),
    reservation: null,
    startedAt: performance.now(),
  };
}

interface Generating {
  readonly id: string;
  readonly exchange: MemoryExchange;
  readonly responses: BackgroundResponses;
  readonly signal: AbortSignal;
}

interface Generated {
  readonly result: UsageResult;
  /** What failed before anything was generated. */
  readonly thrown: unknown;
  /** Rejects where the exchange was left, or the events could not be kept. */
  readonly recording: Promise<Recording>;
}

interface Recording extends Pick<Ending, 'headers'> {
  readonly end: RecordedEnd | null;
}

async function generate(call: TextCall, generating: Generating): Promise<Generated> {
  const { id, exchange, responses, signal } = generating;
  const candidates = await candidatesFor(call);
  const accepted = await responses.find(id);
  signal.throwIfAborted();
  if (accepted === null || !(await responses.begin(id)))
    throw new GatewayError('job_cancelled', 'The response was cancelled or deleted before it was begun.');
  const recording = record(accepted, generating);
  // Nobody takes what is generated from then on.
  recording.then(({ end }) => end ?? exchange.leave(), exchange.leave);
  const outcome = await attemptCandidates(call, { candidates, prepare: prepareFor(call) });
  return { result: resultOf(call, outcome), thrown: outcome.thrown, recording };
}

async function record(
  accepted: BackgroundResponse,
  { id, exchange, responses }: Generating,
): Promise<Recording> {
  const reply = await exchange.reply;
  const log = accepted.keepsEvents ? responses : null;
  const end = await recordEvents({ reply, id, accepted: accepted.response, log });
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

async function fail(responses: BackgroundResponses, id: string, thrown: unknown): Promise<void> {
  const known = await responses.find(id);
  if (known === null) return;
  const error = encodeOpenAiError(
    thrown instanceof GatewayError
      ? thrown
      : new GatewayError('internal', 'The gateway had an internal error. Report the request id.'),
  );
  const { code, message, param } = error;
  const response = { ...known.response, status: 'failed', error: { code, message } };
  await responses.end(id, {
    status: 'failed',
    response,
    headers: {},
    events: [
      { type: 'error', rest: { code, message, param, error } },
      { type: 'response.failed', rest: { response } },
    ],
  });
}

const withoutEnd = (): GatewayError =>
  new GatewayError('outcome_unknown', {
    message: 'The response broke off before its end. It was not repeated, because it may have been billed.',
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
