import * as z from 'zod/mini';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Lengths of a range that ends now, in whole hours or days (UTC), since usage is summed up by the hour. */
export const PRESETS = {
  '24h': { label: '24 hours', bucket: 'hour', count: 24 },
  '7d': { label: '7 days', bucket: 'hour', count: 7 * 24 },
  '30d': { label: '30 days', bucket: 'day', count: 30 },
  '90d': { label: '90 days', bucket: 'day', count: 90 },
} as const;
export type Preset = keyof typeof PRESETS;
const PRESET_NAMES = ['24h', '7d', '30d', '90d'] as const satisfies readonly Preset[];

const day = z.catch(z.optional(z.string().check(z.regex(/^\d{4}-\d{2}-\d{2}$/))), undefined);

/** What an address says of a range: one that ends now, or two days (UTC) of which both count. */
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
  /** From its beginning to the beginning of the span that follows it. */
  readonly lengthMs: number;
}

/** The longest span that is drawn by the hour. */
const MAX_HOURLY_MS = 7 * DAY_MS;

export const isCustom = ({ from, to }: Range): boolean => from !== undefined || to !== undefined;

/** The span that a range is at this moment. */
export function spanOf(range: Range, fallback: Preset, nowMs: number): Span {
  if (isCustom(range)) return customSpan(range, nowMs);
  const { bucket, count } = PRESETS[range.range ?? fallback];
  const bucketMs = bucketMsOf(bucket);
  const lengthMs = count * bucketMs;
  const endMs = Math.floor(nowMs / bucketMs) * bucketMs + bucketMs;
  return { fromMs: endMs - lengthMs, toMs: nowMs, bucket, lengthMs };
}

function customSpan({ from, to }: Range, nowMs: number): Span {
  const lastDayMs = to === undefined ? nowMs : Date.parse(to);
  const endMs = Math.floor(lastDayMs / DAY_MS) * DAY_MS + DAY_MS;
  const fromMs = from === undefined ? endMs - 30 * DAY_MS : Date.parse(from);
  const lengthMs = endMs - fromMs;
  const bucket = lengthMs <= MAX_HOURLY_MS ? 'hour' : 'day';
  return { fromMs, toMs: Math.min(endMs, nowMs), bucket, lengthMs };
}

/** The span before, as far as this one has come. */
export const spanBefore = ({ fromMs, toMs, bucket, lengthMs }: Span): Span => ({
  fromMs: fromMs - lengthMs,
  toMs: toMs - lengthMs,
  bucket,
  lengthMs,
});

/** The hours or days of a span, as usage names them. */
export function bucketsOf({ fromMs, toMs, bucket }: Span): string[] {
  const bucketMs = bucketMsOf(bucket);
  const names: string[] = [];
  for (let at = fromMs; at < toMs; at += bucketMs) names.push(bucketName(at, bucket));
  return names;
}

const bucketMsOf = (bucket: Span['bucket']): number => (bucket === 'hour' ? HOUR_MS : DAY_MS);

function bucketName(atMs: number, bucket: Span['bucket']): string {
  const text = new Date(atMs).toISOString();
  return bucket === 'hour' ? `${text.slice(0, 13)}:00:00Z` : text.slice(0, 10);
}
