import type { Alerts } from '@gateway/upstream/configuration/alerts';
import type { ReadConfiguration } from '../configuration/read-configuration.ts';
import type { ListedDelivery } from './delivery-queue.ts';
import type { RunningAlerts, RunningAlertsOptions } from './running-alerts.ts';
import type { SendOutcome } from './send-message.ts';

interface AlertsOptions extends Omit<RunningAlertsOptions, 'read'> {
  readonly readConfiguration: ReadConfiguration;
}

/** Alerts of this admin service. */
export interface OpenedAlerts {
  /** The last messages of all admin services, the newest first. */
  deliveries(limit: number): Promise<ListedDelivery[]>;
  /** Sends a test message at once. Undefined: there is no such receiver. */
  test(receiver: string, by: string): Promise<SendOutcome | undefined>;
  close(): Promise<void>;
}

/** Whether nobody is told of anything. */
const isIdle = ({ rules, weeklyReport }: Alerts): boolean => rules.length === 0 && weeklyReport === null;

/**
 * Follows the configuration: as long as it has no rules and no report, nothing is loaded or opened, and each round reads no more
 * than the file.
 */
export function openAlerts({ readConfiguration, ...options }: AlertsOptions): OpenedAlerts {
  /** The last that could be read: a file with a mistake changes nothing. */
  let current: Alerts | null = null;
  const read = async (): Promise<Alerts | null> => {
    current = (await readConfiguration())?.alerts ?? current;
    return current;
  };
  let loaded: Promise<RunningAlerts> | null = null;
  const running = (): Promise<RunningAlerts> => {
    loaded ??= import('./running-alerts.ts').then(({ runAlerts }) => runAlerts({ ...options, read }));
    return loaded;
  };

  let isFailing = false;
  const attempt = async (): Promise<void> => {
    try {
      const alerts = await read();
      if (alerts === null || isIdle(alerts)) return;
      await (await running()).round(alerts);
      isFailing = false;
    } catch (error) {
      if (!isFailing) options.logger.warn({ err: error }, 'alerts');
      isFailing = true;
    }
  };
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const next = (): void => {
    if (isClosed) return;
    timer = setTimeout(() => {
      round = attempt().then(next);
    }, options.everyMs).unref();
  };
  next();

  return {
    deliveries: async (limit) => {
      const hasReceivers = ((await read())?.receivers.size ?? 0) > 0;
      return hasReceivers ? (await running()).deliveries(limit) : [];
    },
    test: async (name, by) => {
      const receiver = (await read())?.receivers.get(name);
      return receiver && (await running()).test(receiver, by);
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await round;
      await (await loaded)?.close();
    },
  };
}
