import { readScript } from '@gateway/redis/define-script';

const PRELUDE = new URL('./prelude.lua', import.meta.url);

/** The text of a Lua script, or of one in several files, after the functions that all scripts share. */
export const loadScript = (...files: readonly URL[]): string => readScript(PRELUDE, ...files);

/**
 * The time that limits are counted by, in microseconds since 1970; null: Redis' own. Replicas whose clocks differ count
 * alike because all use Redis' clock; only tests give another time, which does not move.
 */
export type LimitClock = () => number | null;

export const redisClock: LimitClock = () => null;

/** The clock as a script's argument. */
export const clockArgument = (clock: LimitClock): number | string => clock() ?? '';
