import { isIP } from 'node:net';
import type { ReceiverEntry } from '@gateway/upstream/configuration/alerts-entry';
import type { Network } from '@gateway/upstream/connecting/network';
import { connectionReason } from '@gateway/upstream/fetching/post-outside';
import { type InNetworks, isPublicAddress } from '@gateway/upstream/fetching/public-address';
import { allowedAddress, NotPublicError } from '@gateway/upstream/fetching/public-connector';
import { createTransport } from 'nodemailer';
import type { Mail } from './forms.ts';
import { refused, type SendOutcome } from './send-message.ts';

interface MailOptions {
  /** The message's id, by which a mailbox knows it if it comes twice. */
  readonly id: string;
  readonly isPrivateAllowed: InNetworks | undefined;
  readonly timeLimitMs: number | undefined;
  /** Authorities that are trusted besides those of Node; null: none. */
  readonly certificates: Network['certificates'];
}

type MailSettings = Extract<ReceiverEntry, { type: 'email' }>;

const TIME_LIMIT_MS = 30_000;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/**
 * Sends a mail by SMTP, under the same rules as webhooks: to public addresses by TLS, to private ones only where
 * they are allowed. Credentials are sent by TLS alone.
 */
export async function sendMail(
  { smtpUrl, from, to }: MailSettings,
  mail: Mail,
  { id, isPrivateAllowed = () => false, timeLimitMs = TIME_LIMIT_MS, certificates }: MailOptions,
): Promise<SendOutcome> {
  const url = new URL(smtpUrl);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  let address: string;
  try {
    address = await allowedAddress(host, (one) => isPublicAddress(one) || isPrivateAllowed(one));
  } catch (error) {
    if (error instanceof NotPublicError) return refused('an address that alerts may not be sent to');
    return { status: null, error: connectionReason(error), isFinal: false, retryAfterMs: null };
  }
  const user = decodeURIComponent(url.username);
  const transport = createTransport({
    // The address that was checked: the name could lead elsewhere a moment later.
    host: address,
    port: url.port === '' ? PORTS[url.protocol] : Number(url.port),
    secure: url.protocol === 'smtps:',
    requireTLS: user !== '' || !isPrivateAllowed(address),
    tls: {
      ...(isIP(host) === 0 && { servername: host }),
      ...(certificates !== null && { secureContext: certificates.context }),
    },
    ...(user !== '' && { auth: { user, pass: decodeURIComponent(url.password) } }),
    connectionTimeout: timeLimitMs,
    greetingTimeout: timeLimitMs,
    socketTimeout: timeLimitMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? host;
  try {
    await transport.sendMail({ from, to, ...mail, messageId: `<${id}@${domain}>` });
    return { status: 250, error: null, isFinal: false, retryAfterMs: null };
  } catch (error) {
    const status = responseCode(error);
    return {
      status,
      error: status === null ? connectionReason(error) : `the mail server answered ${status}`,
      // 5yz: it will not take this mail (RFC 5321, 4.2.1).
      isFinal: status !== null && status >= 500,
      retryAfterMs: null,
    };
  } finally {
    transport.close();
  }
}

const responseCode = (error: unknown): number | null =>
  error instanceof Error && 'responseCode' in error && typeof error.responseCode === 'number'
    ? error.responseCode
    : null;
