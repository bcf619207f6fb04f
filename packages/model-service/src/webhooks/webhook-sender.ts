import type { WebhookOutcome, WebhookWorkerOptions } from '@gateway/jobs/webhooks/webhook-worker';
import type { ReadKeyWebhook } from '@gateway/metering/keys/webhooks/key-webhook';
import type { Network } from '@gateway/upstream/connecting/network';
import { answerError, createPoster } from '@gateway/upstream/fetching/post-outside';
import type { InNetworks } from '@gateway/upstream/fetching/public-address';
import { Webhook } from 'standardwebhooks';

interface SenderOptions {
  readonly readWebhook: ReadKeyWebhook;
  /** `WEBHOOK_SECRET`. */
  readonly masterSecret: string | undefined;
  /** Networks that webhooks may go to besides public addresses. Only there over plain http. */
  readonly isPrivateAllowed: InNetworks | undefined;
  /** The way to public addresses. */
  readonly network: Network;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly timeLimitMs?: number;
}

export interface WebhookSender {
  readonly send: WebhookWorkerOptions['send'];
  close(): Promise<void>;
}

/** The receiver does not want this webhook any more. */
const GONE = 410;

/** Sends single webhooks, signed as Standard Webhooks has it, to addresses that the poster posts to. */
export function createWebhookSender(options: SenderOptions): WebhookSender {
  const { readWebhook, masterSecret, now } = options;
  const poster = createPoster(options);

  const post = async (
    url: string,
    headers: Record<string, string>,
    body: string,
  ): Promise<WebhookOutcome> => {
    const { status, error, isRefused } = await poster.post(url, headers, body);
    return status === null
      ? { url, status, error, isFinal: isRefused }
      : { url, status, error: answerError(status), isFinal: status === GONE };
  };

  return {
    send: async ({ id, keyId, url: own, body }) => {
      const webhook = await readWebhook(keyId);
      const url = own ?? webhook?.url ?? null;
      if (url === null) return refused(null, 'the key has no webhook URL any more');
      if (masterSecret === undefined) return refused(url, 'WEBHOOK_SECRET is not set');
      const secrets = webhook?.secrets(masterSecret, now()) ?? [];
      if (secrets.length === 0) return refused(url, 'the key has no webhook secret');
      const timestamp = new Date(now());
      const signatures = secrets.map((secret) => new Webhook(secret).sign(id, timestamp, body));
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'model-gateway-webhooks/1',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(timestamp.getTime() / 1000)),
        'webhook-signature': signatures.join(' '),
      };
      return post(url, headers, body);
    },
    close: () => poster.close(),
  };
}

const refused = (url: string | null, error: string): WebhookOutcome => ({
  url,
  status: null,
  error,
  isFinal: true,
});
