// How findings say numbers, names and times.

export const instantOf = (atMs: number): string => new Date(atMs).toISOString();

/** `42%`; what is not nothing is not said to be nothing. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return 'under 1%';
  return `${Math.floor(share * 100 + 1e-9)}%`;
}

export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** `680 ms`, `2.1 s` */
export const milliseconds = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;

/** `40 s`, `12 min`, `3 h` */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** So many names are written out. */
const MAX_NAMES = 5;

/** `a`, `a and b`, `a, b and c`; of many the first ones and how many others there are. */
export function listed(names: readonly string[]): string {
  if (names.length > MAX_NAMES)
    return `${names.slice(0, MAX_NAMES - 1).join(', ')} and ${names.length - MAX_NAMES + 1} others`;
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** `model a`, `models a and b` */
export const named = (noun: string, names: readonly string[]): string =>
  `${noun}${names.length === 1 ? '' : 's'} ${listed(names)}`;

/** As the beginning of a sentence, which ends with a full stop. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
