import { FINDING_KINDS } from '@gateway/contracts/findings';
import { WebhookUrl } from '@gateway/contracts/webhooks';
import { z } from 'zod';
import { NOT_HERE } from './expand-variables.ts';

// Each `error` completes the sentence "found …, expected …".

/** A variable that this process does not have stands there: its receiver is known, and nothing can be sent to it. */
export const isNotHere = (text: string): boolean => text.includes(NOT_HERE);

const isUrl = (text: string): boolean => isNotHere(text) || WebhookUrl.safeParse(text).success;
const Address = z.string().refine(isUrl, {
  error: 'an http or https URL, without a user name, a password or a fragment',
});

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

/** Nothing follows the host: a `/` in a password would end the host early, and a part of the password would be shown as the host. */
const isSmtpUrl = (text: string): boolean => {
  if (isNotHere(text)) return true;
  const url = URL.parse(text);
  return (
    url !== null &&
    ['smtp:', 'smtps:'].includes(url.protocol) &&
    url.hostname !== '' &&
    `${url.pathname}${url.search}${url.hash}`.length <= 1 &&
    isDecodable(url.username) &&
    isDecodable(url.password)
  );
};
const SmtpUrl = z.string().refine(isSmtpUrl, {
  error:
    'a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start, with signs such as @ / % percent-encoded',
});

const ADDRESS = /^[^\s@<>,;:"()]+@[^\s@<>,;:"()]+$/;
const isAddress = (text: string): boolean => isNotHere(text) || ADDRESS.test(text);
const isSender = (text: string): boolean => isAddress(/^[^<>\r\n]*<([^<>]+)>$/.exec(text)?.[1] ?? text);
const Recipient = z.string().refine(isAddress, { error: 'an e-mail address' });
const Sender = z
  .string()
  .max(200)
  .refine(isSender, { error: 'an e-mail address, or a name with one: Gateway <gateway@example.com>' });

/** As Standard Webhooks has them: 24 to 64 bytes. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
const WebhookSecret = z.string().refine((text) => isNotHere(text) || SECRET.test(text), {
  error: 'whsec_ and 24 to 64 random bytes as base64',
});

const ReceiverEntry = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('slack'), url: Address }),
    z.strictObject({ type: z.literal('teams'), url: Address }),
    z.strictObject({ type: z.literal('webhook'), url: Address, secret: WebhookSecret }),
    z.strictObject({
      type: z.literal('email'),
      smtpUrl: SmtpUrl,
      from: Sender,
      to: z.array(Recipient).min(1).max(50),
    }),
  ],
  { error: 'a mapping with the type slack, teams, webhook or email' },
);
export type ReceiverEntry = z.infer<typeof ReceiverEntry>;

const words = z.array(z.string().min(1)).min(1).max(200);
const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'a time of the day, such as "22:00"' });
export const WEEKDAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const;
export type Weekday = (typeof WEEKDAYS)[number];

const RuleEntry = z.strictObject({
  receivers: words,
  /** Absent: all. */
  kinds: z.array(z.enum(FINDING_KINDS)).min(1).optional(),
  severity: z.enum(['any', 'urgent']).optional(),
  /** Only what is about one of them; models by name or pattern. */
  channels: words.optional(),
  models: words.optional(),
  teams: words.optional(),
  /** How long it has to last. */
  afterSeconds: z.int().min(0).max(86_400).optional(),
  /** How often it is said again while it lasts. */
  repeatHours: z.number().min(0.1).max(720).optional(),
  maxRepeats: z.int().min(0).max(100).optional(),
});

export const AlertsEntry = z.strictObject({
  thresholds: z
    .strictObject({
      budgetShares: z.array(z.number().positive().max(1)).min(1).max(10).optional(),
      failureRate: z.number().positive().max(1).optional(),
      minRequests: z.int().min(1).max(1_000_000).optional(),
      slowdown: z.number().min(1.2).max(100).optional(),
      queueSeconds: z.int().min(1).max(86_400).optional(),
      keyExpiryDays: z.number().min(0).max(90).optional(),
    })
    .optional(),
  receivers: z.record(z.string(), ReceiverEntry).optional(),
  rules: z.array(RuleEntry).max(100).optional(),
  /** A receiver gets one message in so many seconds, with all that is due. */
  groupSeconds: z.int().min(0).max(3600).optional(),
  quietHours: z
    .strictObject({
      from: clock,
      to: clock,
      /** The days on which it begins; absent: every day. */
      days: z.array(z.enum(WEEKDAYS)).min(1).optional(),
      /** What becomes of urgent findings meanwhile. */
      urgent: z.enum(['send', 'hold']).optional(),
    })
    .optional(),
  weeklyReport: z
    .strictObject({ receivers: words, day: z.enum(WEEKDAYS).optional(), at: clock.optional() })
    .optional(),
});
export type AlertsEntry = z.infer<typeof AlertsEntry>;

/** Members whose texts are secrets: Slack's and Microsoft's addresses are, too. */
export const ALERT_SECRETS = ['url', 'smtpUrl', 'secret'] as const;
