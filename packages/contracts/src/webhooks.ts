import { z } from 'zod';
import { PublicJob } from './jobs.ts';
import { problem } from './wire-types.ts';

/** By which a request names where its job's end is to be reported. */
export const WEBHOOK_HEADER = 'x-gateway-webhook';

const MAX_URL_CHARACTERS = 2048;

const MISTAKE = `A webhook's URL must be an http or https URL of at most ${MAX_URL_CHARACTERS} characters, without a user name, a password or a fragment.`;

function isWebhookUrl(text: string): boolean {
  if (text.length > MAX_URL_CHARACTERS || !URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '' && hash === '';
}

/** Where webhooks are sent. Which addresses it may lead to is checked when one is sent. */
export const WebhookUrl = z.string().superRefine((text, context) => {
  if (!isWebhookUrl(text))
    context.addIssue(problem([], { code: 'invalid_value', openai: MISTAKE, anthropic: MISTAKE }));
});
export type WebhookUrl = z.infer<typeof WebhookUrl>;

/** The URL without its query, which often is a token: for lists, logs and the audit log. */
export function shownWebhookUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

/** A webhook's body, in the form that Standard Webhooks recommends. */
export const JobWebhook = z.strictObject({
  type: z.enum(['job.completed', 'job.failed', 'job.cancelled']),
  /** When the job ended. */
  timestamp: z.iso.datetime(),
  data: PublicJob,
});
export type JobWebhook = z.infer<typeof JobWebhook>;

/** A delivery waits for its first or next attempt, was answered with 2xx, or is not tried any more. */
export const WebhookStatus = z.enum(['pending', 'delivered', 'failed']);
export type WebhookStatus = z.infer<typeof WebhookStatus>;

/** One attempt at a delivery. */
export const WebhookAttempt = z.strictObject({
  at: z.iso.datetime(),
  /** The receiver's; null where it did not answer. */
  status: z.int().nullable(),
  /** Why the attempt failed; null where it did not. */
  error: z.string().nullable(),
  durationMs: z.int().min(0),
});
export type WebhookAttempt = z.infer<typeof WebhookAttempt>;

/** A delivery as the admin API shows it: never its body, a secret, or the query of its URL. */
export const ShownWebhook = z.strictObject({
  /** What the receiver gets as `webhook-id`. */
  id: z.string(),
  jobId: z.string(),
  keyId: z.string(),
  requestId: z.string(),
  /** Where the last attempt went; null before the first one. */
  url: z.string().nullable(),
  status: WebhookStatus,
  createdAt: z.iso.datetime(),
  /** Null where no attempt is planned. */
  nextAttemptAt: z.iso.datetime().nullable(),
  /** The latest ones, the oldest first. */
  attempts: z.array(WebhookAttempt),
});
export type ShownWebhook = z.infer<typeof ShownWebhook>;
