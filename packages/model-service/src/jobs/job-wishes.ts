import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { JOB_WAIT_LIMIT_MS } from '@gateway/contracts/time-limits';
import { WEBHOOK_HEADER, WebhookUrl } from '@gateway/contracts/webhooks';

/** How a caller wants a job to be done and answered. */
export interface JobWishes {
  /** The job goes on when its caller leaves. */
  readonly isDetached: boolean;
  /** How long the caller wants to wait for the result before it is answered with the job; null: until the result is there. */
  readonly waitMs: number | null;
  /** The value of `Preference-Applied`. */
  readonly applied: string | null;
  readonly idempotencyKey: string | null;
  /** Where the job's end is to be reported, beside the key's own settings. */
  readonly webhook: string | null;
}

/** Visible characters of ASCII: others mean different things to different programs on the way. */
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * Reads `Prefer` (RFC 7240), `Idempotency-Key` and `x-gateway-webhook`. Preferences that we do not know count for nothing.
 *
 * @throws {GatewayError} `invalid_value` for an idempotency key or a webhook's URL that is not valid
 */
export function wishesOf({ headers }: Pick<IncomingMessage, 'headers'>): JobWishes {
  const preferences = preferencesIn([headers.prefer ?? ''].flat().join(','));
  const wait = secondsIn(preferences.get('wait'));
  const isAsync = preferences.has('respond-async');
  const applied = [...(isAsync ? ['respond-async'] : []), ...(wait === null ? [] : [`wait=${wait}`])];
  const idempotencyKey = idempotencyKeyIn(headers['idempotency-key']);
  const webhook = webhookIn(headers[WEBHOOK_HEADER]);
  const waitMs = wait === null ? null : Math.min(wait * 1000, JOB_WAIT_LIMIT_MS);
  return {
    isDetached: applied.length > 0 || idempotencyKey !== null || webhook !== null,
    waitMs: isAsync ? (waitMs ?? 0) : waitMs,
    applied: applied.length > 0 ? applied.join(', ') : null,
    idempotencyKey,
    webhook,
  };
}

/** By name; of several, the first counts (RFC 7240 §2). */
function preferencesIn(header: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const preference of header.split(',')) {
    const [name = '', value = ''] = (preference.split(';')[0] ?? '').split('=').map((part) => part.trim());
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), value.replace(/^"(.*)"$/, '$1'));
  }
  return found;
}

const secondsIn = (value: string | undefined): number | null =>
  value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : null;

function idempotencyKeyIn(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const key = [header].flat().join(', ');
  if (KEY.test(key)) return key;
  throw new GatewayError('invalid_value', {
    path: ['Idempotency-Key'],
    message: 'Invalid Idempotency-Key header. Send 1 to 255 visible ASCII characters, such as a UUID.',
  });
}

function webhookIn(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const url = WebhookUrl.safeParse([header].flat().join(', '));
  if (url.success) return url.data;
  throw new GatewayError('invalid_value', {
    path: [WEBHOOK_HEADER],
    message: `Invalid ${WEBHOOK_HEADER} header. Send one http or https URL without a user name, a password or a fragment.`,
  });
}

/** Whether the caller wants an error when a parameter would be dropped. */
export const isStrict = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['x-gateway-strict'] === 'true';
