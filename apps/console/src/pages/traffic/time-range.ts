import * as z from 'zod/mini';
import { dateIn, dayStartMs, laterDate } from '../../parts/time-zone.ts';

const HOUR_MS = 3_600_000;
const HOURS_PER_DAY = 24;
const DAY_MS = HOURS_PER_DAY * HOUR_MS;

/** Lengths of a range that ends now, in whole hours, since usage is summed up by the hour, or in whole days of the zone shown. */
export const PRESETS = {
  '24h': { label: '24 hours', bucket: 'hour', count: 24 },
  '7d': { label: '7 days', bucket: 'hour', count: 7 * 24 },
  '30d': { label: '30 days', bucket: 'day', count: 30 },
  '90d': { label: '90 days', bucket: 'day', count: 90 },
} as const;
export type Preset = keyof typeof PRESETS;
const PRESET_NAMES = ['24h', '7d', '30d', '90d'] as const satisfies readonly Preset[];

const day = z.catch(z.optional(z.string().check(z.regex(/^\d{4}-\d{2}-\d{2}$/))), undefined);

/** What an address says of a range: one that ends now, or two days of which both count. */
export const RANGE_MEMBERS = {
  range: z.catch(z.optional(z.enum(PRESET_NAMES)), undefined),
  from: day,
  to: day,
};

export interface Range {
  readonly range?: Preset | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface Span {
  readonly fromMs: number;
  /** Exclusive; never in the future. */
  readonly toMs: number;
  /** By what it is drawn. */
  readonly bucket: 'hour' | 'day';
  /** From its beginning to the beginning of the span that follows it: hours or days. */
  readonly count: number;
  /** Of its days. */
  readonly zone: string;
}

/** The longest span that is drawn by the hour, in days. */
const MAX_HOURLY_DAYS = 7;
const DAYS_OF_CUSTOM = 30;

export const isCustom = ({ from, to }: Range): boolean => from !== undefined || to !== undefined;

/** The span that a range is at this moment, its days those of a time zone. */
export function spanOf(range: Range, fallback: Preset, nowMs: number, zone: string): Span {
  if (isCustom(range)) return customSpan(range, nowMs, zone);
  const { bucket, count } = PRESETS[range.range ?? fallback];
  if (bucket === 'day') {
    const from = laterDate(dateIn(nowMs, zone), 1 - count);
    return { fromMs: dayStartMs(from, zone), toMs: nowMs, bucket, count, zone };
  }
  const endMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS + HOUR_MS;
  return { fromMs: endMs - count * HOUR_MS, toMs: nowMs, bucket, count, zone };
}

function customSpan({ from, to }: Range, nowMs: number, zone: string): Span {
  const end = laterDate(to ?? dateIn(nowMs, zone), 1);
  const first = from ?? laterDate(end, -DAYS_OF_CUSTOM);
  const days = Math.round((Date.parse(end) - Date.parse(first)) / DAY_MS);
  const isHourly = days <= MAX_HOURLY_DAYS;
  return {
    fromMs: dayStartMs(first, zone),
    toMs: Math.min(dayStartMs(end, zone), nowMs),
    bucket: isHourly ? 'hour' : 'day',
    count: isHourly ? days * HOURS_PER_DAY : days,
    zone,
  };
}

/** The span before, as far as this one has come. */
export function spanBefore(span: Span): Span {
  const { fromMs, toMs, bucket, count, zone } = span;
  const beforeMs =
    bucket === 'hour' ? fromMs - count * HOUR_MS : dayStartMs(laterDate(dateIn(fromMs, zone), -count), zone);
  return { ...span, fromMs: beforeMs, toMs: beforeMs + (toMs - fromMs) };
}

/** The hours or days of a span, as usage names them. */
export function bucketsOf({ fromMs, toMs, bucket, zone }: Span): string[] {
  const names: string[] = [];
  if (bucket === 'hour') {
    // Usage is summed up by whole hours (UTC), also where a day begins between them.
    for (let at = Math.floor(fromMs / HOUR_MS) * HOUR_MS; at < toMs; at += HOUR_MS)
      names.push(`${new Date(at).toISOString().slice(0, 13)}:00:00Z`);
    return names;
  }
  for (let date = dateIn(fromMs, zone); dayStartMs(date, zone) < toMs; date = laterDate(date, 1))
    names.push(date);
  return names;
}
