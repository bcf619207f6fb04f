import { Text, Tooltip } from '@mantine/core';
import { timeFormat } from './time-zone.ts';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = timeFormat({
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
  timeZoneName: 'short',
});

/** With the name of its zone. */
export const exactTime = (at: string): string => absolute(new Date(at));

/** `3 hours ago`, `in 2 days`; `now` within a minute. */
export function relativeTime(at: string, nowMs: number): string {
  const seconds = (Date.parse(at) - nowMs) / 1000;
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  return unit === undefined ? 'now' : relative.format(Math.trunc(seconds / unit[1]), unit[0]);
}

/** An instant, relative to now; the exact time on demand. */
export function Moment({ at, size = 'sm' }: { at: string; size?: 'xs' | 'sm' }) {
  return (
    <Tooltip label={exactTime(at)}>
      <Text component="time" size={size} dateTime={at} span>
        {relativeTime(at, Date.now())}
      </Text>
    </Tooltip>
  );
}
