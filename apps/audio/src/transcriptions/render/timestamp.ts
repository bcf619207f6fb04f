const MS_PER_HOUR = 3_600_000;
const MS_PER_MINUTE = 60_000;

const padded = (value: number, digits: number): string => String(Math.floor(value)).padStart(digits, '0');

/** Seconds as `00:00:03,320` (srt) or `00:00:03.320` (vtt): hours always present, rounded to the millisecond. */
export function timestamp(seconds: number, separator: ',' | '.'): string {
  const totalMs = Math.round(seconds * 1000);
  const hours = padded(totalMs / MS_PER_HOUR, 2);
  const minutes = padded((totalMs % MS_PER_HOUR) / MS_PER_MINUTE, 2);
  const rest = padded((totalMs % MS_PER_MINUTE) / 1000, 2);
  return `${hours}:${minutes}:${rest}${separator}${padded(totalMs % 1000, 3)}`;
}
