import { isTimeZone } from '@gateway/contracts/time-zone';
import { useSyncExternalStore } from 'react';

// One time zone for every time that is shown, for days and for charts. It is the machine's until a person chooses another one.

const STORED = 'gateway-time-zone';
const MINUTE_MS = 60_000;

/** The zone of the person's machine, such as `Europe/Berlin`. */
export const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

function storedZone(): string {
  const stored = localStorage.getItem(STORED);
  return stored !== null && isTimeZone(stored) ? stored : OWN_ZONE;
}

let current = storedZone();
const watching = new Set<() => void>();

/** The zone that times are shown in now. */
export const timeZone = (): string => current;

/** Shows all times in another zone, here and whenever this browser opens the console. */
export function chooseTimeZone(zone: string): void {
  if (!isTimeZone(zone)) return;
  localStorage.setItem(STORED, zone);
  current = zone;
  for (const changed of watching) changed();
}

/** The zone, for what has to be shown again when another one is chosen. */
export const useTimeZone = (): string =>
  useSyncExternalStore((changed) => {
    watching.add(changed);
    return () => watching.delete(changed);
  }, timeZone);

/** Times as texts, in the zone that is chosen then. */
export function timeFormat(options: Intl.DateTimeFormatOptions): (at: Date | number) => string {
  const formats = new Map<string, Intl.DateTimeFormat>();
  return (at) => {
    const format =
      formats.get(current) ?? new Intl.DateTimeFormat('en-GB', { ...options, timeZone: current });
    formats.set(current, format);
    return format.format(at);
  };
}

const walls = new Map<string, Intl.DateTimeFormat>();

/** What clocks of a zone show: `2026-11-23T14:05`. */
export function wallTime(atMs: number, zone: string): string {
  const format =
    walls.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  walls.set(zone, format);
  return format.format(atMs).replace(' ', 'T');
}

/** The moment at which clocks of a zone show this; where they skip it, the moment after. In Unix milliseconds. */
export function instantOf(wall: string, zone: string): number {
  const asUtc = Date.parse(`${wall}Z`);
  const offsetAt = (atMs: number) =>
    Date.parse(`${wallTime(atMs, zone)}Z`) - Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  const guess = asUtc - offsetAt(asUtc);
  return asUtc - offsetAt(guess);
}

/** The date of a moment in a zone: `2026-11-23`. */
export const dateIn = (atMs: number, zone: string): string => wallTime(atMs, zone).slice(0, 10);

/** The first moment of a date, in Unix milliseconds. */
export const dayStartMs = (date: string, zone: string): number => instantOf(`${date}T00:00`, zone);

/** The date so many days later. */
export const laterDate = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
