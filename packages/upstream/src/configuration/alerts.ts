import type { FindingKind, Thresholds } from '@gateway/contracts/findings';
import type { ReceiverEntry, Weekday } from './alerts-entry.ts';

/** Where alerts are sent to. */
export interface AlertReceiver {
  readonly name: string;
  readonly settings: ReceiverEntry;
  /** Variables of its entry that this process does not have: it cannot send there. */
  readonly missing: readonly string[];
}

/** Which findings are sent to whom. */
export interface AlertRule {
  readonly receivers: readonly string[];
  /** Null: all, as for the others. */
  readonly kinds: readonly FindingKind[] | null;
  readonly isUrgentOnly: boolean;
  readonly channels: readonly string[] | null;
  /** Names, and patterns with `*`. */
  readonly models: readonly string[] | null;
  readonly teams: readonly string[] | null;
  readonly afterMs: number;
  readonly repeatMs: number;
  readonly maxRepeats: number;
}

/** Times of the day, in the time zone of budgets. */
export interface QuietHours {
  readonly from: string;
  readonly to: string;
  /** On which they begin; null: every day. */
  readonly days: readonly Weekday[] | null;
  readonly holdsUrgent: boolean;
}

export interface WeeklyReport {
  readonly receivers: readonly string[];
  readonly day: Weekday;
  readonly at: string;
}

/** What is a finding, and who is told of which. */
export interface Alerts {
  readonly thresholds: Thresholds;
  readonly receivers: ReadonlyMap<string, AlertReceiver>;
  readonly rules: readonly AlertRule[];
  readonly groupMs: number;
  readonly quietHours: QuietHours | null;
  readonly weeklyReport: WeeklyReport | null;
}
