const MINUTE_MS = 60_000;

/** How long a caller waits for a queued job, from its enqueueing to its end. Then the job is cancelled. */
export const JOB_WAIT_LIMIT_MS = 20 * MINUTE_MS;

/** The service's further time: to check and enqueue the request, and to begin the reply. */
const AROUND_A_JOB_MS = MINUTE_MS;

/**
 * How long the edge waits at least for a reply that needs a job. If this were shorter than the wait for the job, the
 * edge's abort would cancel paid work that is running.
 */
export const JOB_REPLY_TIMEOUT_MS = JOB_WAIT_LIMIT_MS + AROUND_A_JOB_MS;
