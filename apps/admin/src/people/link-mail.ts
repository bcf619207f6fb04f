import { randomUUID } from 'node:crypto';
import type { Logger } from '@gateway/service-kit/logger';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import type { Network } from '@gateway/upstream/connecting/network';
import type { InNetworks } from '@gateway/upstream/fetching/public-address';
import { Counter } from 'prom-client';
import { mailOf } from '../alerts/forms.ts';
import type { ReadConfiguration } from '../configuration/read-configuration.ts';

/** What came of sending a link by e-mail, as the API says it. */
interface LinkDelivery {
  readonly isSent: boolean;
  /** Why not, and what to do; null: it was sent. */
  readonly message: string | null;
}

interface SentLink {
  /** A URL, or a path where the console's address is not known. */
  readonly link: string;
  readonly personId: string;
  readonly to: string;
  readonly isInvitation: boolean;
  readonly expiresAtMs: number;
  /** Who made it. */
  readonly by: string;
}

/** Sends the link by which a person sets a password. Never rejects for what the mail server does; bounds the time. */
export type SendLink = (sent: SentLink) => Promise<LinkDelivery>;

interface LinkMailOptions {
  readonly readConfiguration: ReadConfiguration;
  readonly isPrivateAllowed: InNetworks | undefined;
  readonly network: Network;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** The request that makes the link waits for it. */
const TIME_LIMIT_MS = 10_000;

/** Sends by the server and the sender of the first receiver of alerts that gets mails. Its recipients get none of these. */
export function createLinkMail(options: LinkMailOptions): SendLink {
  const { readConfiguration, isPrivateAllowed, network, logger, metrics } = options;
  const attempts = new Counter({
    name: 'gateway_console_link_emails_total',
    help: 'Links to set a password that were to be sent by e-mail: sent, failed',
    labelNames: ['outcome'],
    registers: [metrics.registry],
  });

  const attempt = async (sent: SentLink): Promise<string | null> => {
    if (!URL.canParse(sent.link))
      return 'CONSOLE_URL is not set, so the gateway does not know the address of the console.';
    const receivers = [...((await readConfiguration())?.alerts.receivers.values() ?? [])];
    const [sender] = receivers.flatMap(({ settings, missing }) =>
      settings.type === 'email' ? [{ settings, missing }] : [],
    );
    if (sender === undefined)
      return "No mail server is set. Add a receiver of the type email to 'alerts' in the configuration.";
    const { settings, missing } = sender;
    if (missing.length > 0) return `The admin service does not have the variable ${missing.join(', ')}.`;
    // Only where there is a mail server.
    const { sendMail } = await import('../alerts/send-mail.ts');
    const outcome = await sendMail({ ...settings, to: [sent.to] }, mailOf(shownLink(sent)), {
      ...{ id: `link_${randomUUID()}`, isPrivateAllowed, timeLimitMs: TIME_LIMIT_MS },
      certificates: network.certificates,
    });
    const { status, error } = outcome;
    // No address and no link: the link alone is enough to set the password.
    const line = { personId: sent.personId, status: status ?? undefined };
    if (error === null) logger.info(line, 'link sent by e-mail');
    else logger.warn({ ...line, 'error.cause': error }, 'link not sent by e-mail');
    return error === null ? null : `The mail server could not be used: ${error}.`;
  };

  return async (sent) => {
    const reason = await attempt(sent);
    attempts.inc({ outcome: reason === null ? 'sent' : 'failed' });
    return reason === null
      ? { isSent: true, message: null }
      : { isSent: false, message: `The e-mail was not sent. ${reason} Copy the link and send it yourself.` };
  };
}

/** Nothing that was written by a caller but the name of who made it. */
const shownLink = ({ link, to, isInvitation, expiresAtMs, by }: SentLink) => ({
  title: isInvitation ? 'Your invitation to the console' : 'Your link to set a new password',
  isUrgent: false,
  sections: [
    {
      heading: null,
      items: [
        {
          head: isInvitation
            ? `${by} invited you to the console of the gateway.`
            : `${by} created a link for you to set a new password for the console of the gateway.`,
          lines: [
            `You sign in as ${to}. The link works once, until ${new Date(expiresAtMs).toUTCString()}.`,
            'Anyone who has the link can set the password: do not forward this message. If you did not expect it, ignore it.',
          ],
        },
      ],
    },
  ],
  link,
});
