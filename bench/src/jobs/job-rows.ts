import type { Row } from '../row.ts';
import { type JobFigures, measureJobs } from './measure-jobs.ts';

const KILOBYTE = 1024;

/** Measured once for all its rows. */
let jobFigures: Promise<JobFigures> | undefined;

/** The queue alone: it runs by itself, in a process for the service and one for the worker. */
const jobRow = (
  id: string,
  what: string,
  unit: Row['unit'],
  figureOf: (figures: JobFigures) => number,
): Row => ({
  id,
  what,
  unit,
  measure: async () => {
    jobFigures ??= measureJobs();
    return new Map([['gateway (each)', { value: figureOf(await jobFigures) }]]);
  },
});

export const JOB_ROWS: readonly Row[] = [
  jobRow('jobs', 'jobs per second, nothing done in them', '/s', ({ perSecond }) => perSecond),
  jobRow('job-begin', 'from the call to the begin of a job, p50', 'ms', ({ beginP50Ms }) => beginP50Ms),
  jobRow('job-end', 'from the end of a job to its caller, p50', 'ms', ({ endP50Ms }) => endP50Ms),
  jobRow(
    'job-redis',
    'Redis, for a finished job',
    'KB',
    ({ redisBytesPerJob }) => redisBytesPerJob / KILOBYTE,
  ),
  jobRow(
    'job-memory',
    'service and worker, for a finished job',
    'KB',
    ({ heapBytesPerJob }) => heapBytesPerJob / KILOBYTE,
  ),
];
