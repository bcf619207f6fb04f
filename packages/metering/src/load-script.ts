import { readFileSync } from 'node:fs';

const PRELUDE = readFileSync(new URL('./prelude.lua', import.meta.url), 'utf8');

/** The text of a Lua script, or of one in several files, behind the functions that all of ours share. */
export const loadScript = (...urls: readonly URL[]): string =>
  [PRELUDE, ...urls.map((url) => readFileSync(url, 'utf8'))].join('\n');

/**
 * The time that limits are counted by, in microseconds since 1970; null: Redis' own. There is one authority of time, so
 * that replicas whose clocks differ count alike: only tests give another, which stands still.
 */
export type LimitClock = () => number | null;

export const redisClock: LimitClock = () => null;

/** As scripts take it. */
export const clockArgument = (clock: LimitClock): number | string => clock() ?? '';
