import { randomUUID } from 'node:crypto';
import type { Usage } from '@gateway/records/open-records';
import type { Alerts } from '@gateway/upstream/configuration/alerts';
import type { Found } from '../findings/finding.ts';
import type { Findings, ReadFindings } from '../findings/read-findings.ts';
import { type AlertState, advance, isFor } from './advance.ts';
import type { AlertStore } from './alert-store.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import type { Message } from './message.ts';
import { isQuiet } from './quiet-hours.ts';
import { dueReport, lastDueOn, makeReport } from './weekly-report.ts';

interface RoundsOptions {
  readonly readFindings: ReadFindings;
  readonly usage: Pick<Usage, 'sums'>;
  readonly store: AlertStore;
  readonly queue: Pick<DeliveryQueue, 'add'>;
  /** Sends without the queue, which is in Redis. Never rejects. */
  readonly sendNow: (receiver: string, message: Message) => Promise<void>;
  readonly timeZone: string;
  readonly now: () => number;
  readonly everyMs: number;
}

/** What was missing in so many rounds is over. */
const GONE_ROUNDS = 3;

/** Looks what has changed, and has it sent. */
export interface AlertRounds {
  /** @throws what could not be read; the next round tries again */
  round(alerts: Alerts): Promise<void>;
  close(): Promise<void>;
}

export function createAlertRounds(options: RoundsOptions): AlertRounds {
  const { readFindings, store, queue, now, timeZone } = options;
  const whileAway = createAwayAlerts(options);
  let isHolder = false;

  const work = async (alerts: Alerts, findings: Findings): Promise<void> => {
    let state = await store.read();
    // Who sent them may have ended before they were in the queue, which knows them by their ids.
    const flush = async (): Promise<void> => {
      if (state.outbox.length === 0) return;
      for (const delivery of state.outbox) await queue.add(delivery);
      state = { ...state, outbox: [] };
      await store.write(state);
    };
    await flush();
    const round = {
      ...{ findings, alerts, timeZone, nowMs: now(), goneMs: GONE_ROUNDS * options.everyMs },
      newId: () => `msg_${randomUUID()}`,
    };
    const next = await withReport(advance(state, round), alerts, options);
    if (JSON.stringify(next) === JSON.stringify(state)) return;
    if (!(await store.write(next))) return;
    state = next;
    await flush();
  };

  return {
    round: async (alerts) => {
      const findings = await readFindings();
      const away = findings.all.find(({ finding }) => finding.kind === 'redis_away');
      if (away !== undefined) return isHolder ? whileAway.tell(alerts, away) : undefined;
      isHolder = await store.hold();
      await whileAway.resolve(alerts);
      if (isHolder) await work(alerts, findings);
    },
    close: async () => {
      if (isHolder) await store.release().catch(() => undefined);
    },
  };
}

/**
 * While Redis is away nobody can tell who sends: the service that did goes on, for this one finding, and remembers it itself. It is sent
 * once and resolved once.
 */
function createAwayAlerts({ sendNow, timeZone, now }: RoundsOptions) {
  let told: { readonly found: Found; readonly receivers: readonly string[] } | null = null;
  const none = { findings: [], count: 0 };
  const send = (receivers: readonly string[], which: 'opened' | 'resolved', { finding }: Found) => {
    const message: Message = {
      ...{ type: 'alert', id: `msg_${randomUUID()}`, atMs: now() },
      ...{ opened: none, continuing: none, resolved: none },
      [which]: { findings: [finding], count: 1 },
    };
    return Promise.all(receivers.map((receiver) => sendNow(receiver, message)));
  };
  return {
    tell: async (alerts: Alerts, found: Found): Promise<void> => {
      if (told !== null) return;
      const { finding } = found;
      const rules = alerts.rules.filter((rule) => isFor(rule, finding));
      const lastedMs = now() - Date.parse(finding.since ?? '');
      if (rules.length === 0 || lastedMs < Math.min(...rules.map(({ afterMs }) => afterMs))) return;
      const { quietHours } = alerts;
      if (quietHours?.holdsUrgent && isQuiet(quietHours, timeZone, now())) return;
      const receivers = [...new Set(rules.flatMap((rule) => rule.receivers))];
      told = { found, receivers };
      await send(receivers, 'opened', found);
    },
    resolve: async (alerts: Alerts): Promise<void> => {
      if (told === null) return;
      const { found, receivers } = told;
      told = null;
      await send(
        receivers.filter((name) => alerts.receivers.has(name)),
        'resolved',
        found,
      );
    },
  };
}

/** Adds the weekly report where one is due. Quiet hours do not hold it: its time is chosen. */
async function withReport(
  state: AlertState,
  { weeklyReport }: Alerts,
  { usage, timeZone, now }: RoundsOptions,
): Promise<AlertState> {
  if (weeklyReport === null) return state.reportedOn === null ? state : { ...state, reportedOn: null };
  const { reportedOn } = state;
  const nowMs = now();
  if (reportedOn === null) return { ...state, reportedOn: lastDueOn(weeklyReport, timeZone, nowMs) };
  const date = dueReport(weeklyReport, { reportedOn, timeZone, nowMs });
  if (date === null) return state;
  // Usage that cannot be read now is read in a later round; alerts do not wait for it.
  const message = await makeReport(usage, { date, timeZone, id: `msg_${randomUUID()}`, nowMs }).catch(
    () => null,
  );
  if (message === null) return state;
  const deliveries = weeklyReport.receivers.map((receiver) => ({ receiver, message }));
  return { ...state, reportedOn: date, outbox: [...state.outbox, ...deliveries] };
}
