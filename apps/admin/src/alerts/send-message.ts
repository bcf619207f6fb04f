import type { AlertReceiver } from '@gateway/upstream/configuration/alerts';
import type { Network } from '@gateway/upstream/connecting/network';
import { retryAfterSeconds } from '@gateway/upstream/failures/retry-after';
import { answerError, createPoster } from '@gateway/upstream/fetching/post-outside';
import type { InNetworks } from '@gateway/upstream/fetching/public-address';
import { Webhook } from 'standardwebhooks';
import { mailOf, slackBody, teamsBody, webhookBody } from './forms.ts';
import type { Message } from './message.ts';
import { shownMessage } from './shown-message.ts';

/** What came of an attempt to send a message. */
export interface SendOutcome {
  /** The receiver's; null where it did not answer. */
  readonly status: number | null;
  /** Null: it was taken. */
  readonly error: string | null;
  /** Another attempt would fail as well. */
  readonly isFinal: boolean;
  /** The wait that the receiver asks for; null: none. */
  readonly retryAfterMs: number | null;
}

/** Sends a message to a receiver. Never rejects for what that does; bounds the time. */
export type SendMessage = (receiver: AlertReceiver, message: Message) => Promise<SendOutcome>;

interface SenderOptions {
  readonly timeZone: string;
  readonly consoleUrl: string | null;
  readonly isPrivateAllowed: InNetworks | undefined;
  readonly network: Network;
  readonly now: () => number;
  readonly timeLimitMs?: number;
}

const JSON_HEADERS = { 'content-type': 'application/json', 'user-agent': 'model-gateway-alerts/1' };
/** Answers to what no further attempt makes better: the message, or the address, is wrong. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 410, 413, 415, 422]);

export const refused = (error: string): SendOutcome => ({
  ...{ status: null, error, isFinal: true, retryAfterMs: null },
});

export function createMessageSender(options: SenderOptions): { send: SendMessage; close(): Promise<void> } {
  const { timeZone, consoleUrl, isPrivateAllowed, network, now, timeLimitMs } = options;
  const poster = createPoster({ isPrivateAllowed, network, timeLimitMs });

  const post = async (url: string, body: object, sign?: (text: string) => Record<string, string>) => {
    const text = JSON.stringify(body);
    const answer = await poster.post(url, { ...JSON_HEADERS, ...sign?.(text) }, text);
    if (answer.status === null)
      return { status: null, error: answer.error, isFinal: answer.isRefused, retryAfterMs: null };
    const seconds = retryAfterSeconds(answer.headers, { message: '', retryDelay: null }, now());
    return {
      status: answer.status,
      error: answerError(answer.status),
      isFinal: FINAL.has(answer.status),
      retryAfterMs: seconds === null ? null : seconds * 1000,
    };
  };

  return {
    send: async ({ settings, missing }, message) => {
      if (missing.length > 0)
        return refused(`the admin service does not have the variable ${missing.join(', ')}`);
      const shown = shownMessage(message, { timeZone, consoleUrl });
      switch (settings.type) {
        case 'slack':
          return post(settings.url, slackBody(shown));
        case 'teams':
          return post(settings.url, teamsBody(shown));
        case 'webhook':
          return post(settings.url, webhookBody(message, shown), (text) => {
            const at = new Date(now());
            return {
              'webhook-id': message.id,
              'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
              'webhook-signature': new Webhook(settings.secret).sign(message.id, at, text),
            };
          });
        case 'email': {
          // Only where there is somebody to write to.
          const { sendMail } = await import('./send-mail.ts');
          return sendMail(settings, mailOf(shown), {
            ...{ id: message.id, isPrivateAllowed, timeLimitMs },
            certificates: network.certificates,
          });
        }
      }
    },
    close: () => poster.close(),
  };
}
