import type { WebhookOutcome, WebhookWorkerOptions } from '@gateway/jobs/webhooks/webhook-worker';
import type { ReadKeyWebhook } from '@gateway/metering/keys/webhooks/key-webhook';
import { DIRECT, type Network } from '@gateway/upstream/connecting/network';
import { openAgent } from '@gateway/upstream/connecting/open-pool';
import { type InNetworks, isPublicAddress } from '@gateway/upstream/fetching/public-address';
import { type IsAllowed, NotPublicError } from '@gateway/upstream/fetching/public-connector';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';

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

const TIME_LIMIT_MS = 15_000;
const CONNECT_MS = 5000;
/** The most bytes of an answer, which nobody reads. A longer one ends the connection. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The receiver does not want this webhook any more. */
const GONE = 410;

/**
 * Sends single webhooks, signed as Standard Webhooks has it. Redirects are not followed; addresses are checked where the connection
 * is made, so that a name cannot lead elsewhere a moment later.
 */
export function createWebhookSender(options: SenderOptions): WebhookSender {
  const { readWebhook, masterSecret, network, now, timeLimitMs = TIME_LIMIT_MS } = options;
  const { isPrivateAllowed = () => false } = options;
  const agentFor = (isAllowed: IsAllowed, way: Network) =>
    openAgent({ network: way, connectMs: CONNECT_MS, isAllowed, isKept: false });
  const agents = {
    'https:': agentFor((address) => isPublicAddress(address) || isPrivateAllowed(address), network),
    // Plain http goes to private networks only, which no proxy leads to.
    'http:': agentFor(isPrivateAllowed, DIRECT),
  };

  const post = async (
    url: string,
    headers: Record<string, string>,
    body: string,
  ): Promise<WebhookOutcome> => {
    const dispatcher = new URL(url).protocol === 'https:' ? agents['https:'] : agents['http:'];
    const signal = AbortSignal.timeout(timeLimitMs);
    try {
      const reply = await request(url, { method: 'POST', dispatcher, headers, body, signal });
      await reply.body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => undefined);
      return { url, status: reply.statusCode, ...verdictOn(reply.statusCode) };
    } catch (error) {
      const isFinal = error instanceof NotPublicError;
      return {
        url,
        status: null,
        error: reasonOf(error, { url, isLate: signal.aborted, timeLimitMs }),
        isFinal,
      };
    }
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
    close: async () => {
      await Promise.all(Object.values(agents).map((agent) => agent.destroy()));
    },
  };
}

const refused = (url: string | null, error: string): WebhookOutcome => ({
  url,
  status: null,
  error,
  isFinal: true,
});

function verdictOn(status: number): Pick<WebhookOutcome, 'error' | 'isFinal'> {
  if (status >= 200 && status < 300) return { error: null, isFinal: false };
  if (status >= 300 && status < 400)
    return { error: `answered ${status}; redirects are not followed`, isFinal: false };
  return { error: `answered ${status}`, isFinal: status === GONE };
}

interface Failing {
  readonly url: string;
  readonly isLate: boolean;
  readonly timeLimitMs: number;
}

/** The URL as the log may have it: without its query, and without the addresses of its name. */
function reasonOf(error: unknown, { url, isLate, timeLimitMs }: Failing): string {
  if (error instanceof NotPublicError) {
    const { protocol } = new URL(url);
    const where = 'an address that webhooks may not be sent to';
    return protocol === 'https:' ? where : `${where} over plain http`;
  }
  if (isLate) return `no whole answer within ${timeLimitMs} ms`;
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  return code === null ? 'the connection failed' : `the connection failed: ${code}`;
}
