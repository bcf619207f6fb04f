import { GatewayError } from '@gateway/contracts/gateway-error';
import { NOTHING_CONSUMED, type UsageOutcome, type UsageResult } from '@gateway/contracts/usage-record';
import { mayBeBilled } from '@gateway/contracts/usage-without-reply';
import type { Metered } from '@gateway/metering/meter/meter';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { reserveRequest } from '@gateway/model-service/metered-request';
import { CallerLeft } from '@gateway/service-kit/request-context';
import type { TextCall } from '../text-call.ts';
import { estimatedUsage, type TokenUsage } from '../usage.ts';
import { largestConsumption } from './estimate.ts';

/**
 * Lets a call in: reserves the most that it can consume on the caller's limits and budgets.
 *
 * @throws {GatewayError} where a limit or a budget does not cover it, before any upstream is called
 */
export function beginMetering(call: TextCall): Promise<Metered> {
  const { services, endpoint, request, model, message, response } = call;
  const consumption = largestConsumption(request, model);
  const { price } = model;
  return reserveRequest(services, {
    endpoint: endpoint.protocol,
    model: request.model,
    request: message,
    response,
    estimate: {
      outcome: 'ok',
      channel: null,
      attempts: 0,
      durationMs: 0,
      firstByteMs: null,
      consumption,
      estimated: true,
      costMicroUsd: price && costMicroUsd(price, consumption),
    },
  });
}

/**
 * How a call went, when it is over. Where no upstream has begun to answer nothing is charged, but the input where one
 * may have worked on it: the caller left, or a time limit ran out.
 */
export function resultOf(call: TextCall, thrown: unknown): UsageResult {
  const { tally, model, startedAt, context } = call;
  const { channel, firstByteMs } = tally;
  const attempts = Math.max(tally.attempts, Number(context.line.attempts ?? 0));
  const unanswered =
    channel === null && attempts > 0 && thrown instanceof GatewayError && mayBeBilled(thrown.code);
  const estimated = tally.estimated || unanswered;
  const { serviceTier, ...used } = unanswered ? inputOf(call) : (tally.usage ?? {});
  const consumption = { ...NOTHING_CONSUMED, ...used };
  const hasBegun = channel !== null || unanswered;
  const cost = model.price && (hasBegun ? costMicroUsd(model.price, consumption, { serviceTier }) : 0);
  context.line.costMicroUsd = cost;
  return {
    outcome: outcomeOf(call, thrown),
    channel,
    attempts,
    durationMs: Math.round(performance.now() - startedAt),
    firstByteMs,
    consumption,
    estimated,
    costMicroUsd: cost,
  };
}

const inputOf = ({ request }: TextCall): TokenUsage =>
  estimatedUsage(null, { inputLength: request.bytes.length, outputLength: 0 });

function outcomeOf({ context, response }: TextCall, thrown: unknown): UsageOutcome {
  if (context.signal.reason instanceof CallerLeft) return 'left';
  if (thrown === undefined && context.failure === undefined) return 'ok';
  if (thrown instanceof GatewayError && thrown.code === 'client_closed_request') return 'left';
  return response.headersSent ? 'cut' : 'failed';
}
