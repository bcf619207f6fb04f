import { createHash } from 'node:crypto';

const JOB = 'job_';
const RESPONSE = 'resp_';
const ID = /^resp_[0-9a-f]{32}$/;

/** The id of the response that a job generates. */
export const responseIdOf = (jobId: string): string => RESPONSE + jobId.slice(JOB.length);

/** The id of the job that generates a response. */
export const jobIdOf = (responseId: string): string => JOB + responseId.slice(RESPONSE.length);

/** Whether an id may be that of a response which the gateway generates in the background. */
export const isOwnId = (id: string): boolean => ID.test(id);

/** The id of the job that a delivered request makes: the same each time. */
export const deliveredJobId = (delivery: string): string =>
  JOB + createHash('sha256').update(delivery).digest('hex').slice(0, 32);
