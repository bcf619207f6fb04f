import { FINDING_KINDS } from '@gateway/contracts/findings';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { AlertReceiver, Alerts } from '@gateway/upstream/configuration/alerts';
import { isNotHere, WEEKDAYS } from '@gateway/upstream/configuration/alerts-entry';
import { z } from 'zod';
import type { ListedDelivery } from '../../alerts/delivery-queue.ts';
import type { OpenedAlerts } from '../../alerts/open-alerts.ts';
import { isQuiet } from '../../alerts/quiet-hours.ts';
import { shownMessage } from '../../alerts/shown-message.ts';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { instant } from '../../api/schemas/page.ts';
import { configurationOf, type ReadConfiguration } from '../../configuration/read-configuration.ts';

const names = z.array(z.string());
const weekday = z.enum(WEEKDAYS);

const ReceiverReply = z.strictObject({
  name: z.string(),
  type: z.enum(['slack', 'teams', 'webhook', 'email']),
  /** Its host, or who gets the mails: never its address, which is a secret. */
  target: z.string(),
  /** Variables of its entry that the admin service does not have: nothing can be sent to it. */
  missing: names,
});

const RuleReply = z.strictObject({
  receivers: names,
  /** Null: all, as for the others. */
  kinds: z.array(z.enum(FINDING_KINDS)).nullable(),
  isUrgentOnly: z.boolean(),
  channels: names.nullable(),
  models: names.nullable(),
  teams: names.nullable(),
  afterSeconds: z.number(),
  repeatHours: z.number(),
  maxRepeats: z.int(),
});

const DeliveryReply = z.strictObject({
  id: z.string(),
  receiver: z.string(),
  type: z.enum(['alert', 'report', 'test']),
  title: z.string(),
  status: z.enum(['pending', 'delivered', 'failed']),
  createdAt: instant,
  attempts: z.array(
    z.strictObject({
      at: instant,
      status: z.int().nullable(),
      error: z.string().nullable(),
      durationMs: z.int(),
    }),
  ),
});

export const AlertsReply = z.strictObject({
  receivers: z.array(ReceiverReply),
  rules: z.array(RuleReply),
  groupSeconds: z.number(),
  quietHours: z
    .strictObject({
      from: z.string(),
      to: z.string(),
      /** On which they begin; null: every day. */
      days: z.array(weekday).nullable(),
      holdsUrgent: z.boolean(),
      /** Whether it is so now. */
      isNow: z.boolean(),
    })
    .nullable(),
  weeklyReport: z.strictObject({ receivers: names, day: weekday, at: z.string() }).nullable(),
  thresholds: z.strictObject({
    budgetShares: z.array(z.number()),
    failureRate: z.number(),
    minRequests: z.number(),
    slowdown: z.number(),
    queueSeconds: z.number(),
    keyExpiryDays: z.number(),
  }),
  /** Of the times of day above. */
  timeZone: z.string(),
  /** The last ones, the newest first. */
  deliveries: z.array(DeliveryReply),
});

export const AlertTestReply = z.strictObject({
  isOk: z.boolean(),
  /** The receiver's answer; null where it gave none. */
  status: z.int().nullable(),
  error: z.string().nullable(),
});

interface AlertRoutesOptions {
  readonly readConfiguration: ReadConfiguration;
  readonly alerts: Pick<OpenedAlerts, 'deliveries' | 'test'>;
  readonly timeZone: string;
  readonly now: () => number;
}

const MAX_LISTED = 50;

/** Who is told of which findings, what was sent, and trying a receiver. */
export const alertRoutes = ({
  readConfiguration,
  alerts,
  timeZone,
  now,
}: AlertRoutesOptions): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/alerts',
    summary: 'Rules, receivers, quiet hours and the last messages of alerts',
    query: NO_QUERY,
    body: NO_BODY,
    reply: AlertsReply,
    handle: async () => {
      const configured = (await configurationOf(readConfiguration)).alerts;
      const deliveries = await alerts.deliveries(MAX_LISTED);
      return {
        ...shownAlerts(configured, timeZone, now()),
        timeZone,
        deliveries: deliveries.map((delivery) => shownDelivery(delivery, timeZone)),
      };
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/alerts/receivers/{name}/test',
    summary: 'Send a test message to a receiver now, without retries, and return the outcome',
    query: NO_QUERY,
    body: NO_BODY,
    reply: AlertTestReply,
    handle: async ({ parameter: name, by }) => {
      const outcome = await alerts.test(name, by.who);
      if (outcome === undefined)
        throw new GatewayError('object_not_found', `There is no receiver '${name}' in the configuration.`);
      const { status, error } = outcome;
      return { isOk: error === null, status, error };
    },
  }),
];

function shownAlerts(alerts: Alerts, timeZone: string, nowMs: number) {
  const { receivers, rules, groupMs, quietHours, weeklyReport, thresholds } = alerts;
  return {
    receivers: [...receivers.values()].map(shownReceiver),
    rules: rules.map(({ afterMs, repeatMs, ...rule }) => ({
      ...rule,
      afterSeconds: afterMs / 1000,
      repeatHours: repeatMs / 3_600_000,
    })),
    groupSeconds: groupMs / 1000,
    quietHours: quietHours && { ...quietHours, isNow: isQuiet(quietHours, timeZone, nowMs) },
    weeklyReport,
    thresholds,
  };
}

const UNKNOWN = 'not known here';

const shownReceiver = ({ name, settings, missing }: AlertReceiver) => ({
  name,
  type: settings.type,
  target:
    settings.type === 'email'
      ? settings.to.map((one) => (isNotHere(one) ? UNKNOWN : one)).join(', ')
      : hostOf(settings.url, missing),
  missing: [...missing],
});

/** What stands for an address that is not known is none. */
const hostOf = (url: string, missing: readonly string[]): string =>
  missing.length > 0 ? UNKNOWN : (URL.parse(url)?.host ?? '');

const shownDelivery = (
  { id, receiver, message, status, createdMs, attempts }: ListedDelivery,
  timeZone: string,
) => ({
  ...{ id, receiver, type: message.type, status, attempts },
  title: shownMessage(message, { timeZone, consoleUrl: null }).title,
  createdAt: new Date(createdMs).toISOString(),
});
