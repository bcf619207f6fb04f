import { GatewayError } from '@gateway/contracts/gateway-error';
import { readTraceparent } from '@gateway/contracts/trace/trace-context';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import type { Meter } from '@gateway/metering/meter/meter';
import type { LogFields } from '@gateway/service-kit/request/request-context';
import type { Tracing } from '@gateway/service-kit/tracing/tracing';
import { targetOf } from '@gateway/upstream/sending/send';
import type { Upstream } from '@gateway/upstream/upstream';
import { tracePending } from '../metering/call-trace.ts';
import { usageOfConsumption } from '../metering/consumption.ts';
import type { TextMetrics } from '../metering/text-metrics.ts';
import { candidateAt } from '../stored/origins/candidate-at.ts';
import type { BackgroundUsage, PendingResponse, PendingResponses } from '../stored/pending-responses.ts';
import { type JsonObject, parseObject } from '../wire/json-object.ts';
import { endingOf, isPending, withoutEnding } from './ending.ts';

export interface BackgroundUsageOptions {
  readonly pending: PendingResponses;
  readonly upstream: Pick<Upstream, 'configuration' | 'send'>;
  readonly meter: Pick<Meter, 'settleOnce'>;
  readonly metrics: Pick<TextMetrics, 'tokens'>;
  readonly now: () => number;
  /** Until a response is looked at for the first time, and how often what is due is looked for. */
  readonly pollMs: number;
  /** After this time a response is booked as estimated, and its provider gets no more requests about it. */
  readonly giveUpMs: number;
  /** Gets each response that has ended as its provider shows it, before it is booked. */
  readonly onEnded: (response: PendingResponse, shown: JsonObject) => Promise<void>;
  /** Gets the log fields of each response that was booked. */
  readonly onBooked: (line: LogFields) => void;
  /** Undefined where no traces are exported. */
  readonly tracing: Tracing | undefined;
  /** Called once per outage of Redis, with its reason. */
  readonly onProblem: (reason: string) => void;
}

/** Providers that one process calls at the same time. */
const LOOKS_AT_ONCE = 16;
const LOOK_TIMEOUT_MS = 10_000;
/** Longer than a look, so that no other process looks at the same time; a process that dies delays it by no more. */
const CLAIM_MS = 15_000;
/** The wait between looks grows with the age of the response, up to this. */
const MAX_WAIT_MS = 60_000;
const WAIT_PER_AGE = 0.25;
/** By how much a reservation outlives the looking, so that it is booked here and not as an abandoned one. */
const LEASE_MARGIN_MS = 600_000;
/** A response may hold pictures. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 2;

export function createBackgroundUsage(options: BackgroundUsageOptions): BackgroundUsage {
  const { pending, upstream, meter, metrics, now, pollMs, giveUpMs, onEnded, onBooked, onProblem, tracing } =
    options;
  let round: Promise<void> | null = null;
  let isAway = false;
  let isClosed = false;

  const book = async (
    response: PendingResponse,
    ended: UsageResult,
    shown: JsonObject = {},
  ): Promise<void> => {
    const { id, subject, origin, trace } = response;
    const traceId = readTraceparent(trace?.traceparent)?.traceId;
    const result = traceId === undefined ? ended : { ...ended, detail: { ...ended.detail, traceId } };
    if (await meter.settleOnce(subject, result)) {
      const candidate = trace && candidateAt(upstream.configuration, origin);
      tracePending(tracing, response, { target: candidate ? targetOf(candidate) : null, result, shown });
      metrics.tokens(origin.channel, usageOfConsumption(result.consumption));
      onBooked(lineOf(response, result));
    }
    await pending.remove(id);
  };

  const lookAt = async (response: PendingResponse): Promise<void> => {
    const ageMs = now() - response.subject.startedAtMs;
    const shown = await read(upstream, response);
    const ending = typeof shown === 'string' ? null : endingOf(response, shown, now());
    if (ending !== null && typeof shown !== 'string') {
      await onEnded(response, shown);
      await book(response, ending, shown);
    } else if (shown === 'gone' || ageMs >= giveUpMs) await book(response, withoutEnding(response, now()));
    else await pending.lookAgain(response.id, nextWaitMs(ageMs, pollMs));
  };

  const lookAtAllDue = async (): Promise<void> => {
    for (;;) {
      const due = await pending.claim(CLAIM_MS, LOOKS_AT_ONCE);
      await Promise.all(due.map(lookAt));
      isAway = false;
      if (due.length < LOOKS_AT_ONCE || isClosed) return;
    }
  };

  const timer = setInterval(() => {
    round ??= lookAtAllDue()
      .catch((cause: unknown) => {
        if (!isAway) onProblem(cause instanceof Error ? cause.message : String(cause));
        isAway = true;
      })
      .finally(() => {
        round = null;
      });
  }, pollMs).unref();

  return {
    leaseMs: giveUpMs + LEASE_MARGIN_MS,
    requireStore: () => pending.tryWrite().catch(unavailable),
    add: (response) => pending.add(response, pollMs),
    forget: (id) => pending.remove(id),
    seen: async (id, shown) => {
      if (isPending(shown)) return;
      const response = await pending.find(id);
      if (response === null) return;
      const ending = endingOf(response, shown, now());
      if (ending !== null) await book(response, ending, shown);
    },
    look: async (id) => {
      const response = await pending.find(id);
      if (response !== null) await lookAt(response);
    },
    close: async () => {
      isClosed = true;
      clearInterval(timer);
      await round;
    },
  };
}

const nextWaitMs = (ageMs: number, pollMs: number): number =>
  Math.round(Math.min(Math.max(ageMs * WAIT_PER_AGE, pollMs), Math.max(MAX_WAIT_MS, pollMs)));

/** The response as its provider shows it; `gone` where the provider does not have it any more. */
async function read(
  upstream: BackgroundUsageOptions['upstream'],
  { id, origin }: PendingResponse,
): Promise<JsonObject | 'gone' | 'unknown'> {
  const candidate = candidateAt(upstream.configuration, origin);
  if (candidate === null) return 'unknown';
  try {
    const reply = await upstream.send({
      candidates: [candidate],
      request: () => ({
        operation: 'responses',
        method: 'GET',
        subpath: `/${encodeURIComponent(id)}`,
        headers: {},
      }),
      dialect: 'openai',
      work: 'free',
      streamed: false,
      signal: AbortSignal.timeout(LOOK_TIMEOUT_MS),
    });
    return parseObject((await reply.bytes(MAX_REPLY_BYTES)).toString()) ?? 'unknown';
  } catch (error) {
    return error instanceof GatewayError && error.options.relay?.status === 404 ? 'gone' : 'unknown';
  }
}

/** The one log line of a background response that has ended. */
function lineOf({ id, subject, origin }: PendingResponse, result: UsageResult): LogFields {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = result.consumption;
  return {
    responseId: id,
    usageId: subject.id,
    keyId: subject.keyId,
    model: subject.model,
    channel: origin.channel,
    outcome: result.outcome,
    durationMs: result.durationMs,
    inputTokens,
    cachedInputTokens,
    outputTokens,
    reasoningTokens,
    costMicroUsd: result.costMicroUsd,
    ...(result.estimated ? { usageEstimated: true } : {}),
  };
}

function unavailable(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'Background responses cannot be stored at the moment. Please try again shortly.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
