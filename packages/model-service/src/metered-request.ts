import type { IncomingMessage } from 'node:http';
import type { Identity } from '@gateway/contracts/identity';
import type { JobKind } from '@gateway/contracts/jobs';
import type { CallerName } from '@gateway/contracts/usage/caller-names';
import type { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import { longestLifeMs } from '@gateway/jobs/catalog';
import type { JobOwner } from '@gateway/jobs/queue/job-owner';
import type { TurnTaker } from '@gateway/jobs/turns/job-turns';
import { rateLimitHeaders } from '@gateway/metering/limits/rate-limit-headers';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import { BUDGET_HEADER } from '@gateway/metering/meter/budget-notice';
import type { Meter, Metered } from '@gateway/metering/meter/meter';
import { identityOf, type RequestContext } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import type { Caller } from './caller.ts';
import { callerNamesIn } from './caller-names.ts';
import { tracedSettle } from './tracing/inference-span.ts';

interface MeteringService {
  readonly meter: Meter;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A request that is about to cost something. */
export interface CostlyRequest {
  readonly endpoint: UsageSubject['endpoint'];
  /** The caller's name for it. */
  readonly model: string;
  /** The most that it can consume and cost. */
  readonly estimate: UsageResult;
  /** See `Demand`. */
  readonly mostMicroUsd?: number | undefined;
  /** See `Demand`. */
  readonly isTentative?: boolean;
  readonly caller: Pick<Caller, 'note' | 'headers'>;
  /** What its body says of these; the caller's headers say it first. */
  readonly names?: Readonly<Partial<Record<CallerName, string | null>>>;
  readonly identity: Identity;
  readonly context: RequestContext;
  /** Of a request that is counted with what it reserves. */
  readonly entry?: PendingEntry | undefined;
}

/** A request that has been let in, and under which name it is accounted. */
export interface ReservedRequest extends Metered {
  readonly subject: UsageSubject;
  /** After it was settled: what limits and budgets get back is on its way before the caller learns of the end. */
  givenBack(): Promise<void>;
}

/**
 * Lets a request in that this process serves: reserves the most that it can consume. The caller settles it.
 *
 * @throws {GatewayError} where a limit or a budget does not cover it, before any upstream is called
 */
export const reserveRequest = (service: MeteringService, costly: CostlyRequest): Promise<ReservedRequest> =>
  // Not the request id: callers may choose that one, and a record counts once for each id.
  reserve(service, costly, requestIdOf(undefined));

/** Who takes a slot in a queue by this request. */
export const turnTakerOf = (request: IncomingMessage): TurnTaker => turnTaker(identityOf(request));

export const turnTaker = ({ keyId, jobShare }: Identity): TurnTaker => ({ keyId, share: jobShare });

/** The owner of a job that something is reserved for. */
export type ReservedJob = JobOwner & Required<Pick<JobOwner, 'metering'>>;

/**
 * Lets a job in: reserves the most that it can consume, under the id that it will have. Its worker settles it.
 *
 * @throws {GatewayError} as `reserveRequest`
 */
export async function reserveJob(
  service: MeteringService,
  kind: JobKind,
  costly: CostlyRequest,
  { jobId, isDetached }: { readonly jobId: string; readonly isDetached: boolean },
): Promise<ReservedJob> {
  const { subject } = await reserve(service, costly, jobId, longestLifeMs(kind, { isDetached }));
  const { requestId, trace } = costly.context;
  const metering = { subject, estimate: costly.estimate };
  return { ...turnTaker(costly.identity), requestId, metering, trace };
}

async function reserve(
  { meter, now }: MeteringService,
  costly: CostlyRequest,
  id: string,
  leaseMs?: number,
): Promise<ReservedRequest> {
  const {
    endpoint,
    model,
    estimate,
    mostMicroUsd,
    isTentative = false,
    caller,
    names,
    context,
    entry,
  } = costly;
  const { keyId, team, accounts } = costly.identity;
  const { line, dialect, requestId } = context;
  const given = callerNamesIn(caller.headers, names);
  const subject = { id, keyId, team, endpoint, model, startedAtMs: now(), requestId, ...given };
  const metered = await meter.begin({
    subject,
    accounts,
    estimate,
    mostMicroUsd,
    isTentative,
    entry,
    ...(leaseMs && { leaseMs }),
  });
  line.usageId = id;
  if (metered.budgetNotice !== null) caller.note(BUDGET_HEADER, metered.budgetNotice);
  if (metered.tokenRate !== null)
    for (const [name, value] of rateLimitHeaders(metered.tokenRate, dialect, now())) caller.note(name, value);
  const givenBack = async () => {
    if (accounts.length > 0) await meter.sent();
  };
  return { ...metered, ...tracedSettle(metered, { context, subject }), subject, givenBack };
}
