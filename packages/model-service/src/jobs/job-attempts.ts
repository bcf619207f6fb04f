import type { ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobAttempts } from '@gateway/contracts/jobs';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { FinishedJob } from '@gateway/jobs/worker/finished-job';
import type { LogFields, RequestContext } from '@gateway/service-kit/request/request-context';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import type { Attempt } from '@gateway/upstream/replies/reply';

export type OnAttempt = (attempt: Attempt) => void;

/**
 * Runs a job, and adds its attempts to what it comes to: to its output, or as a header to its error, which callers who wait
 * for the job or fetch its result get.
 */
export async function listAttempts<Output>(
  run: (onAttempt: OnAttempt) => Promise<Output>,
): Promise<Output & Pick<JobAttempts, 'attemptList' | 'account'>> {
  const attempts: Attempt[] = [];
  try {
    const output = await run((attempt) => void attempts.push(attempt));
    const account = attempts.findLast(({ outcome }) => outcome === 'ok')?.account;
    return { ...output, attemptList: attemptsHeader(attempts) ?? undefined, account };
  } catch (thrown) {
    const list = attemptsHeader(attempts);
    if (list === null || !(thrown instanceof GatewayError)) throw thrown;
    const headers = { ...thrown.options.headers, [ATTEMPTS_HEADER]: list };
    throw new GatewayError(thrown.code, { ...thrown.options, headers });
  }
}

/** Names the attempts of a job to its caller, and in the log where there were several. Call it before the head is sent. */
export function showJobAttempts(
  { attemptList, account, upstreamAttempts }: JobAttempts,
  { line }: Pick<RequestContext, 'line'>,
  response: ServerResponse,
): void {
  Object.assign(line, { attempts: upstreamAttempts, account });
  if (attemptList === undefined) return;
  if (!response.headersSent) response.setHeader(ATTEMPTS_HEADER, attemptList);
  if (upstreamAttempts > 1) line.attemptList = attemptList;
}

const LoggedAttempts = JobAttempts.partial().catch({});

/** The same in a worker's log line. For a job that failed the list is there also after one attempt: nothing else names the channel. */
export function attemptFields({ error, output }: Pick<FinishedJob, 'error' | 'output'>): LogFields {
  if (error !== undefined) return { attemptList: error.options.headers?.[ATTEMPTS_HEADER] };
  const { upstreamAttempts = 0, attemptList, account } = LoggedAttempts.parse(output);
  return { upstreamAttempts, account, ...(upstreamAttempts > 1 && { attemptList }) };
}
