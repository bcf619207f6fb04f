import { createHash } from 'node:crypto';

/** The id of the job that a delivered request makes: the same each time. */
export const deliveredJobId = (delivery: string): string =>
  `job_${createHash('sha256').update(delivery).digest('hex').slice(0, 32)}`;
