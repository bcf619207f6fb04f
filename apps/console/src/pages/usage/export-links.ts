import { type Range, spanOf } from '../traffic/time-range.ts';
import { type Filter, filterOf, instant } from '../traffic/usage-query.ts';

const FORMATS = ['csv', 'ndjson'] as const;

/** Where the records of a view can be fetched from. */
export function exportLinks(view: Filter & Range): Record<(typeof FORMATS)[number], string> {
  const { fromMs, toMs } = spanOf(view, '30d', Date.now());
  const link = (format: string): string =>
    `/admin/v1/usage/records?${new URLSearchParams({ format, from: instant(fromMs), to: instant(toMs), ...filterOf(view) })}`;
  return { csv: link('csv'), ndjson: link('ndjson') };
}
