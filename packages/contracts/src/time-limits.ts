const MINUTE_MS = 60_000;

/** How long a caller is held for a queued job, from its enqueueing to its end. Then the job is cancelled. */
export const JOB_WAIT_LIMIT_MS = 20 * MINUTE_MS;

/** What a service needs besides: to check and enqueue the request, and to begin the reply. */
const AROUND_A_JOB_MS = MINUTE_MS;

/**
 * How long the edge waits at least for the reply to a request that is answered by a job. Were it shorter than the wait
 * for the job, its hang-up would cancel paid work that is running.
 */
export const JOB_REPLY_TIMEOUT_MS = JOB_WAIT_LIMIT_MS + AROUND_A_JOB_MS;
