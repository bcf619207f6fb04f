import type { JobKind } from '@gateway/contracts/jobs';
import type { UsageResult, UsageSubject } from '@gateway/contracts/usage-record';
import { longestLifeMs } from '@gateway/jobs/catalog';
import { newJobId } from '@gateway/jobs/job-keys';
import type { JobOwner } from '@gateway/jobs/job-queue';
import { BUDGET_HEADER } from '@gateway/metering/meter/budget-notice';
import type { Meter, Metered } from '@gateway/metering/meter/meter';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import { requestIdOf } from '@gateway/service-kit/request-id';
import type { Request, Response } from 'express';

interface BeginOptions {
  readonly service: { readonly meter: Meter; readonly now: () => number };
  /** The caller's name for it. */
  readonly model: string;
  readonly estimate: UsageResult;
  readonly request: Request;
  readonly response: Response;
}

/**
 * Lets a job in: reserves the most that it can consume, under the id that it will have. Its worker settles it.
 *
 * @throws {GatewayError} where a limit or a budget does not cover it
 */
export async function beginJob(kind: JobKind, options: BeginOptions): Promise<JobOwner> {
  const subject = subjectOf(newJobId(), options);
  await begin(subject, options, longestLifeMs(kind));
  const { keyId } = subject;
  return {
    keyId,
    requestId: contextOf(options.request).requestId,
    metering: { subject, estimate: options.estimate },
  };
}

/** Lets a request in that this process serves and settles. @throws {GatewayError} as `beginJob` */
export const beginCall = (options: BeginOptions): Promise<Metered> =>
  // Not the request id: callers may choose that one, and a record counts once for each id.
  begin(subjectOf(requestIdOf(undefined), options), options);

async function begin(
  subject: UsageSubject,
  { service, estimate, request, response }: BeginOptions,
  leaseMs?: number,
): Promise<Metered> {
  const { accounts } = identityOf(request);
  const metered = await service.meter.begin({ subject, accounts, estimate, ...(leaseMs && { leaseMs }) });
  contextOf(request).line.usageId = subject.id;
  if (metered.budgetNotice !== null) response.setHeader(BUDGET_HEADER, metered.budgetNotice);
  return metered;
}

function subjectOf(id: string, { service, model, request }: BeginOptions): UsageSubject {
  const { keyId, team } = identityOf(request);
  return { id, keyId, team, endpoint: 'images', model, startedAtMs: service.now() };
}
