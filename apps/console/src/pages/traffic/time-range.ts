import * as z from 'zod/mini';
import { dateIn, dayStartMs, laterDate } from '../../parts/time-zone.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const HOURS_PER_DAY = 24;
const DAY_MS = HOURS_PER_DAY * HOUR_MS;

/** By what usage is drawn, in milliseconds; days have the length that they have in a zone. */
const BUCKET_MS = { minute: MINUTE_MS, fiveMinutes: 5 * MINUTE_MS, hour: HOUR_MS } as const;
export type Bucket = keyof typeof BUCKET_MS | 'day';

/** Lengths of a range that ends now, in whole minutes or hours, or in whole days of the zone shown. */
export const PRESETS = {
  '15m': { label: '15 minutes', bucket: 'minute', count: 15 },
  '1h': { label: 'hour', bucket: 'minute', count: 60 },
  '6h': { label: '6 hours', bucket: 'fiveMinutes', count: 72 },
  '24h': { label: '24 hours', bucket: 'hour', count: 24 },
  '7d': { label: '7 days', bucket: 'hour', count: 7 * 24 },
  '30d': { label: '30 days', bucket: 'day', count: 30 },
  '90d': { label: '90 days', bucket: 'day', count: 90 },
} as const satisfies Record<string, { label: string; bucket: Bucket; count: number }>;
export type Preset = keyof typeof PRESETS;
const PRESET_NAMES = ['15m', '1h', '6h', '24h', '7d', '30d', '90d'] as const satisfies readonly Preset[];

const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?$/;
const moment = z.catch(
  z.optional(
    z.string().check(
      z.regex(MOMENT),
      z.refine((text) => !Number.isNaN(Date.parse(text))),
    ),
  ),
  undefined,
);

/** What an address says of a range: one that ends now, two days of which both count, or two moments (UTC). */
export const RANGE_MEMBERS = {
  range: z.catch(z.optional(z.enum(PRESET_NAMES)), undefined),
  from: moment,
  to: moment,
};

export interface Range {
  readonly range?: Preset | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface Span {
  readonly fromMs: number;
  /** Exclusive; in the future only where whole days are asked for. */
  readonly toMs: number;
  /** By what it is drawn. */
  readonly bucket: Bucket;
  /** From its beginning to the beginning of the span that follows it: so many buckets. */
  readonly count: number;
  /** Of its days. */
  readonly zone: string;
}

/** The longest spans that are drawn by the minute, by five, and by the hour. */
const FINE_BUCKETS = [
  ['minute', 2 * HOUR_MS],
  ['fiveMinutes', 12 * HOUR_MS],
  ['hour', 7 * DAY_MS],
] as const;
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
  const lengthMs = BUCKET_MS[bucket];
  const endMs = Math.floor(nowMs / lengthMs) * lengthMs + lengthMs;
  return { fromMs: endMs - count * lengthMs, toMs: nowMs, bucket, count, zone };
}

/** A span of the whole days that hours of more than one lie in: there are far fewer sums of days. */
export function byDays(span: Span): Span {
  const { fromMs, toMs, bucket, count, zone } = span;
  if (bucket !== 'hour' || count <= HOURS_PER_DAY) return span;
  const [first, last] = [dateIn(fromMs, zone), dateIn(toMs - 1, zone)];
  const days = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return {
    fromMs: dayStartMs(first, zone),
    toMs: dayStartMs(laterDate(last, 1), zone),
    ...{ bucket: 'day', count: days, zone },
  };
}

/** Whether sums by the hour do not tell a span: it is read from single requests. */
export const isFine = ({ bucket }: Pick<Span, 'bucket'>): boolean =>
  bucket === 'minute' || bucket === 'fiveMinutes';

/** An address may name any year, and a year that is being typed begins with zeros: what is further away is these days. */
const [EARLIEST, LATEST] = ['1970-01-01', '2199-12-31'] as const;
function bounded(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text < EARLIEST) return EARLIEST;
  return text > LATEST ? LATEST : text;
}

const isDay = (text: string): boolean => !text.includes('T');
/** A moment of an address: of a day its beginning, or the end of the whole day. */
const startOf = (text: string, zone: string): number =>
  isDay(text) ? dayStartMs(text, zone) : Date.parse(text);
const endOf = (text: string, zone: string): number => startOf(isDay(text) ? laterDate(text, 1) : text, zone);

/** Two moments, drawn as finely as they are near to each other. */
function momentsSpan(fromMs: number, endMs: number, nowMs: number, zone: string): Span {
  const [bucket = 'day'] = FINE_BUCKETS.find(([, mostMs]) => endMs - fromMs <= mostMs) ?? [];
  const lengthMs = bucket === 'day' ? DAY_MS : BUCKET_MS[bucket];
  const count = Math.max(1, Math.ceil((endMs - fromMs) / lengthMs));
  return { fromMs, toMs: Math.max(Math.min(endMs, nowMs), fromMs + MINUTE_MS), bucket, count, zone };
}

function customSpan(range: Range, nowMs: number, zone: string): Span {
  const [from, to] = [bounded(range.from), bounded(range.to)];
  if ([from, to].some((text) => text !== undefined && !isDay(text))) {
    const endMs = to === undefined ? nowMs : endOf(to, zone);
    return momentsSpan(from === undefined ? endMs - DAY_MS : startOf(from, zone), endMs, nowMs, zone);
  }
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
    bucket === 'day'
      ? dayStartMs(laterDate(dateIn(fromMs, zone), -count), zone)
      : fromMs - count * BUCKET_MS[bucket];
  return { ...span, fromMs: beforeMs, toMs: beforeMs + (toMs - fromMs) };
}

/** A moment as addresses and usage have it. */
const momentText = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`;

/** From the beginning of one bucket of a span to the end of another, as an address says it. */
export const rangeFrom = (
  { bucket }: Pick<Span, 'bucket'>,
  first: string,
  last: string,
): { from: string; to: string } =>
  bucket === 'day'
    ? { from: first, to: last }
    : { from: momentText(Date.parse(first)), to: momentText(Date.parse(last) + BUCKET_MS[bucket]) };

/** A range as another page needs it, which falls back to another one. */
export const rangeSearch = ({ range, from, to }: Range, fallback: Preset): Range =>
  isCustom({ from, to }) ? { from, to } : { range: range ?? fallback };

/** The minutes, hours or days of a span, as usage names them. */
export function bucketsOf({ fromMs, toMs, bucket, zone }: Span): string[] {
  const names: string[] = [];
  if (bucket !== 'day') {
    // Usage is summed up by whole hours (UTC), also where a day begins between them.
    const lengthMs = BUCKET_MS[bucket];
    for (let at = Math.floor(fromMs / lengthMs) * lengthMs; at < toMs; at += lengthMs)
      names.push(momentText(at));
    return names;
  }
  for (let date = dateIn(fromMs, zone); dayStartMs(date, zone) < toMs; date = laterDate(date, 1))
    names.push(date);
  return names;
}
