import { DEFAULT_THRESHOLDS } from '@gateway/contracts/findings';
import type { Alerts } from '../alerts.ts';
import type { AlertsEntry } from '../alerts-entry.ts';

const DEFAULT_AFTER_SECONDS = 60;
const DEFAULT_REPEAT_HOURS = 12;
const DEFAULT_MAX_REPEATS = 3;
const DEFAULT_GROUP_SECONDS = 60;
const HOUR_MS = 3_600_000;

/** @param missing the variables that a receiver names and that this process does not have */
export function buildAlerts(
  entry: AlertsEntry | null,
  missing: (receiver: string) => readonly string[],
): Alerts {
  const { thresholds, receivers = {}, rules = [], quietHours, weeklyReport } = entry ?? {};
  const given = Object.fromEntries(
    Object.entries(thresholds ?? {}).filter(([, value]) => value !== undefined),
  );
  const whole = { ...DEFAULT_THRESHOLDS, ...given };
  return {
    thresholds: { ...whole, budgetShares: [...new Set(whole.budgetShares)].toSorted((a, b) => a - b) },
    receivers: new Map(
      Object.entries(receivers).map(([name, settings]) => [name, { name, settings, missing: missing(name) }]),
    ),
    rules: rules.map((rule) => ({
      receivers: rule.receivers,
      kinds: rule.kinds ?? null,
      isUrgentOnly: rule.severity === 'urgent',
      channels: rule.channels ?? null,
      models: rule.models ?? null,
      teams: rule.teams ?? null,
      afterMs: (rule.afterSeconds ?? DEFAULT_AFTER_SECONDS) * 1000,
      repeatMs: (rule.repeatHours ?? DEFAULT_REPEAT_HOURS) * HOUR_MS,
      maxRepeats: rule.maxRepeats ?? DEFAULT_MAX_REPEATS,
    })),
    groupMs: (entry?.groupSeconds ?? DEFAULT_GROUP_SECONDS) * 1000,
    quietHours:
      quietHours === undefined
        ? null
        : {
            from: quietHours.from,
            to: quietHours.to,
            days: quietHours.days ?? null,
            holdsUrgent: quietHours.urgent === 'hold',
          },
    weeklyReport:
      weeklyReport === undefined
        ? null
        : {
            receivers: weeklyReport.receivers,
            day: weeklyReport.day ?? 'monday',
            at: weeklyReport.at ?? '08:00',
          },
  };
}
