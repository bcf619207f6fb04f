import { PublicJob } from '@gateway/contracts/jobs';
import { JobWebhook, WEBHOOK_HEADER } from '@gateway/contracts/webhooks';
import { waitFor } from '@gateway/testkit/wait-for';
import { Webhook } from 'standardwebhooks';
import type { Exchange } from '../wire/exchange.ts';
import { parseJson } from '../wire/replies.ts';
import type { RequestKind } from './request-kinds.ts';
import { left, type Trip, unexpected } from './trip.ts';

const PATH = '/v1/images/generations';
/** Longer than a webhook takes whose worker was killed, or whose Redis was away, and that is sent again. */
const REPORTED = { timeoutMs: 100_000 };

const isWhole = ({ end, status }: Exchange, expected: number): boolean =>
  end === 'complete' && status === expected;

const hasEnded = (reply: Exchange): boolean => {
  const job = PublicJob.safeParse(parseJson(reply.body));
  return !job.success || !['queued', 'in_progress'].includes(job.data.status);
};

/** A job whose caller leaves it alone: its end is reported, signed, and as the job says it. */
export const REPORTED_IMAGE: RequestKind = {
  work: 'paid',
  service: 'image',
  worker: 'image-worker',
  run: async (trip) => {
    const { webhooks, planned } = trip;
    const path = `/${planned.name}`;
    const json = { model: 'dall-e-2', prompt: trip.mark(1), size: '256x256', response_format: 'b64_json' };
    const headers = { prefer: 'respond-async', [WEBHOOK_HEADER]: webhooks.url + path };
    const taken = await trip.ask(PATH, { json, headers });
    if (!isWhole(taken, 202)) return unexpected(taken);
    const ended = await trip.poll(taken.headers.location ?? '', hasEnded);
    if (!isWhole(ended, 200)) return unexpected(ended);
    const isReported = await waitFor(() => webhooks.received(path).length > 0, REPORTED).catch(() => false);
    // Who looks for what is lost finds nothing.
    if (!isReported) return { ...left, failure: { where: 'reply', status: 404, code: 'no webhook' } };
    return { ...left, problems: problemsOf(trip, path, PublicJob.parse(parseJson(ended.body))) };
  },
};

function problemsOf({ webhooks }: Trip, path: string, job: PublicJob): string[] {
  return webhooks.received(path).flatMap(({ headers, body }) => {
    try {
      const { type, data } = JobWebhook.parse(new Webhook(webhooks.secret).verify(body, headers));
      const isRight = data.id === job.id && data.status === job.status && type === `job.${job.status}`;
      return isRight ? [] : [`a webhook says ${type} of ${data.id}, which is ${job.id}, ${job.status}`];
    } catch (error) {
      return [`a webhook that cannot be verified: ${String(error)}`];
    }
  });
}
