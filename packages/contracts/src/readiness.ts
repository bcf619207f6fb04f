import { z } from 'zod';

/** Whether a process can take requests: `unready` may pass, `stopping` is for good. */
export const ReadinessStatus = z.enum(['ok', 'unready', 'stopping']);
export type ReadinessStatus = z.infer<typeof ReadinessStatus>;

/** One reading of a process's readiness, as an edge gets it from a service. Unknown members are ignored. */
export const ReadinessReport = z.object({
  status: ReadinessStatus,
  /** Names of what is missing; empty for `ok`. */
  missing: z.array(z.string()),
});
export type ReadinessReport = z.infer<typeof ReadinessReport>;

/** Where a service reports its readiness to edges, as lines of JSON for as long as they listen. */
export const READINESS_CHANGES_PATH = '/readyz/changes';

/**
 * How often a service reports. Who misses several reports in a row knows within a second that the service hangs or that its
 * machine is gone.
 */
export const READINESS_INTERVAL_MS = 250;
