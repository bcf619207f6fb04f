import { readFileSync } from 'node:fs';

const PRELUDE = readFileSync(new URL('./prelude.lua', import.meta.url), 'utf8');

/** The text of a Lua script, or of one in several files, after the functions that all scripts share. */
export const loadScript = (...urls: readonly URL[]): string =>
  [PRELUDE, ...urls.map((url) => readFileSync(url, 'utf8'))].join('\n');

/**
 * The time that limits are counted by, in microseconds since 1970; null: Redis' own. Replicas whose clocks differ count
 * alike because all use Redis' clock; only tests give another time, which does not move.
 */
export type LimitClock = () => number | null;

export const redisClock: LimitClock = () => null;

/** The clock as a script's argument. */
export const clockArgument = (clock: LimitClock): number | string => clock() ?? '';
