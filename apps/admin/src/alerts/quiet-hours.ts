import type { QuietHours } from '@gateway/upstream/configuration/alerts';
import { WEEKDAYS, type Weekday } from '@gateway/upstream/configuration/alerts-entry';

/** A moment as a clock on the wall shows it. */
export interface WallTime {
  readonly day: Weekday;
  /** `08:30` */
  readonly time: string;
  /** `2026-11-26` */
  readonly date: string;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

export function wallTime(timeZone: string, atMs: number): WallTime {
  const formatter =
    formatters.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', {
      ...{ timeZone, hourCycle: 'h23', weekday: 'long' },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
    });
  formatters.set(timeZone, formatter);
  const parts = Object.fromEntries(formatter.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const { weekday = '', year, month, day, hour, minute } = parts;
  return {
    day: WEEKDAYS.find((name) => name === weekday.toLowerCase()) ?? 'sunday',
    time: `${hour}:${minute}`,
    date: `${year}-${month}-${day}`,
  };
}

const dayBefore = (day: Weekday): Weekday => WEEKDAYS[(WEEKDAYS.indexOf(day) + 6) % 7] ?? 'sunday';

/** Whether a moment is in the quiet hours. Those that reach past midnight belong to the day on which they begin. */
export function isQuiet(hours: QuietHours | null, timeZone: string, atMs: number): boolean {
  if (hours === null) return false;
  const { from, to, days } = hours;
  const { day, time } = wallTime(timeZone, atMs);
  const beginsOn = (name: Weekday): boolean => days === null || days.includes(name);
  if (from < to) return beginsOn(day) && time >= from && time < to;
  // From and to at the same time are a whole day.
  return (beginsOn(day) && time >= from) || (beginsOn(dayBefore(day)) && time < to);
}
