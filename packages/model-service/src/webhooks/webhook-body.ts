import type { JobWebhook } from '@gateway/contracts/webhooks';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { publicJob } from '../jobs/public-job.ts';

/** Of an error; some providers' are long, and the job itself has the whole of it. */
const MAX_MESSAGE_CHARACTERS = 1000;

const typeOf = ({ status }: FoundJob): JobWebhook['type'] => {
  if (status === 'completed') return 'job.completed';
  return status === 'cancelled' ? 'job.cancelled' : 'job.failed';
};

/** The body of the webhook for a job's end: the job, as it is polled. Its result is fetched with the key. */
export async function webhookBody(record: FoundJob): Promise<string> {
  const job = await publicJob({ positionOf: async () => undefined }, record);
  const { message } = job.error ?? {};
  const error =
    job.error !== null && typeof message === 'string'
      ? { ...job.error, message: message.slice(0, MAX_MESSAGE_CHARACTERS) }
      : job.error;
  const timestamp = new Date(record.finishedAtMs ?? record.createdAtMs).toISOString();
  const body: JobWebhook = { type: typeOf(record), timestamp, data: { ...job, error } };
  return JSON.stringify(body);
}
