import { randomUUID } from 'node:crypto';
import { closeInTime } from '@gateway/jobs/redis/close-in-time';
import type { Usage } from '@gateway/records/open-records';
import { createRedis } from '@gateway/redis/open-redis';
import type { Logger } from '@gateway/service-kit/logger';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import type { AlertReceiver, Alerts } from '@gateway/upstream/configuration/alerts';
import type { Network } from '@gateway/upstream/connecting/network';
import type { InNetworks } from '@gateway/upstream/fetching/public-address';
import type { Redis } from 'ioredis';
import { Counter } from 'prom-client';
import type { ReadFindings } from '../findings/read-findings.ts';
import { createAlertRounds } from './alert-rounds.ts';
import { createAlertStore } from './alert-store.ts';
import {
  createDeliveryQueue,
  createDeliveryWorker,
  type FinishedAttempt,
  type ListedDelivery,
} from './delivery-queue.ts';
import type { Delivery, Message } from './message.ts';
import { createMessageSender, refused, type SendOutcome } from './send-message.ts';

export interface RunningAlertsOptions {
  readonly redis: Redis;
  readonly redisUrl: string;
  /** What is configured now. */
  readonly read: () => Promise<Alerts | null>;
  readonly readFindings: ReadFindings;
  readonly usage: Pick<Usage, 'sums'>;
  readonly timeZone: string;
  readonly consoleUrl: string | null;
  readonly isPrivateAllowed: InNetworks | undefined;
  readonly network: Network;
  readonly now: () => number;
  /** How long it is from one round to the next. */
  readonly everyMs: number;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** What is loaded and opened where alerts are configured. */
export interface RunningAlerts {
  round(alerts: Alerts): Promise<void>;
  deliveries(limit: number): Promise<ListedDelivery[]>;
  test(receiver: AlertReceiver, by: string): Promise<SendOutcome>;
  close(): Promise<void>;
}

/** For messages that are being sent; those that are not done by then are sent by another service. */
const CLOSE_MS = 5000;

export function runAlerts(options: RunningAlertsOptions): RunningAlerts {
  const { redis, redisUrl, read, now, logger, metrics } = options;
  const onError = (error: unknown) => logger.warn({ err: error }, 'alerts');
  const queue = createDeliveryQueue(redis, onError);
  const sender = createMessageSender(options);
  const attempts = new Counter({
    name: 'gateway_alert_attempts_total',
    help: 'Attempts to send alerts, by kind of receiver: delivered, failed (to be retried), refused (not to be retried)',
    labelNames: ['receiver', 'outcome'],
    registers: [metrics.registry],
  });

  /** One attempt ends with one log line. An address is in none: most of them are secrets. */
  const log = ({ receiver, message, attempt, outcome, durationMs }: FinishedAttempt, type: string): void => {
    const result = outcome.error === null ? 'delivered' : outcome.isFinal ? 'refused' : 'failed';
    attempts.inc({ receiver: type, outcome: result });
    const line = {
      ...{ receiver, receiverType: type, message: message.type, messageId: message.id, attempt, durationMs },
      ...{ outcome: result, status: outcome.status ?? undefined, 'error.cause': outcome.error ?? undefined },
    };
    if (outcome.error === null) logger.info(line, 'alert delivered');
    else logger.warn(line, 'alert not delivered');
  };
  const typeOf = async (name: string): Promise<string> =>
    (await read())?.receivers.get(name)?.settings.type ?? 'unknown';
  const send = async ({ receiver, message }: Delivery): Promise<SendOutcome> => {
    const settings = (await read())?.receivers.get(receiver);
    return settings === undefined
      ? refused('the configuration has no such receiver any more')
      : sender.send(settings, message);
  };
  const onAttempt = async (made: FinishedAttempt): Promise<void> => log(made, await typeOf(made.receiver));
  const sendNow = async (receiver: string, message: Message): Promise<SendOutcome> => {
    const started = performance.now();
    const outcome = await send({ receiver, message });
    const durationMs = Math.round(performance.now() - started);
    await onAttempt({ receiver, message, attempt: 1, outcome, durationMs });
    return outcome;
  };

  const rounds = createAlertRounds({
    ...options,
    store: createAlertStore(redis, randomUUID()),
    queue,
    sendNow: async (receiver, message) => {
      await sendNow(receiver, message);
    },
  });
  const openWorker = async () => {
    const connection = createRedis(redisUrl, 'worker');
    // Who watches the other connection reports that Redis is away.
    connection.on('error', () => undefined);
    const opened = await createDeliveryWorker({ redis: connection, send, onAttempt, onError });
    return {
      close: async () => {
        await closeInTime(opened.close(), CLOSE_MS);
        connection.disconnect();
      },
    };
  };
  let worker: ReturnType<typeof openWorker> | null = null;

  return {
    round: async (alerts) => {
      worker ??= openWorker();
      // The next round tries again.
      worker.catch(() => {
        worker = null;
      });
      await rounds.round(alerts);
    },
    deliveries: (limit) => queue.list(limit),
    test: (receiver, by) =>
      sendNow(receiver.name, { type: 'test', id: `msg_${randomUUID()}`, atMs: now(), by }),
    close: async () => {
      await rounds.close();
      // While Redis is away it may not even be open.
      await closeInTime(worker?.then((opened) => opened.close()) ?? Promise.resolve(), CLOSE_MS);
      await closeInTime(queue.close());
      await sender.close();
    },
  };
}
