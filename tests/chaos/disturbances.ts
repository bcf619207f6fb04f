import type { Prng } from './prng.ts';

/** Processes that are killed and stopped, by what runs twice. */
export const SERVICES = ['text', 'image', 'audio'] as const;
export const WORKERS = ['text-worker', 'image-worker', 'audio-worker'] as const;
const REPLICATED = ['edge', ...SERVICES, ...WORKERS] as const;
export type Replicated = (typeof REPLICATED)[number];

/** What happens to the gateway and its surroundings. Times are milliseconds. */
export type Disturbance =
  | { readonly kind: 'kill' | 'stop'; readonly process: string; readonly of: Replicated }
  | { readonly kind: 'provider-away'; readonly provider: 'first' | 'second'; readonly forMs: number }
  | { readonly kind: 'redis-restart' | 'redis-crash' }
  /** Redis forgets everything, and is filled again from the database. */
  | { readonly kind: 'redis-emptied' }
  | { readonly kind: 'redis-frozen' | 'redis-full'; readonly forMs: number }
  /** Redis is killed and comes back with what it had `lostMs` before. */
  | { readonly kind: 'redis-loses'; readonly lostMs: number }
  /** Another configuration that means the same for every caller; or one that is not usable. */
  | { readonly kind: 'configuration'; readonly variant: number; readonly isUsable: boolean };

type Make = (prng: Prng) => Disturbance;

const replicaOf = (prng: Prng, of: Replicated): string => (prng.chance(0.5) ? of : `${of}-2`);
const killing = (of: Replicated): Make => {
  return (prng) => ({ kind: 'kill', process: replicaOf(prng, of), of });
};
const stopping = (of: Replicated): Make => {
  return (prng) => ({ kind: 'stop', process: replicaOf(prng, of), of });
};
const awayProvider = (provider: 'first' | 'second'): Make => {
  return (prng) => ({ kind: 'provider-away', provider, forMs: prng.between(300, 2500) });
};

/** Those whose traces are gone within some seconds. */
const SHORT: readonly Make[] = [
  ...(['edge', 'text', 'image', 'audio'] as const).map(killing),
  ...REPLICATED.map(stopping),
  awayProvider('first'),
  awayProvider('second'),
  () => ({ kind: 'redis-restart' }),
  () => ({ kind: 'redis-crash' }),
  (prng) => ({ kind: 'redis-frozen', forMs: prng.between(300, 2500) }),
  (prng) => ({ kind: 'redis-full', forMs: prng.between(300, 2000) }),
  (prng) => ({ kind: 'configuration', variant: prng.between(1, 1000), isUsable: true }),
  (prng) => ({ kind: 'configuration', variant: prng.between(1, 1000), isUsable: false }),
];

/** A dead worker's jobs are noticed after ten to thirty seconds. */
const LONG: readonly Make[] = [
  ...SHORT,
  ...WORKERS.map(killing),
  () => ({ kind: 'redis-emptied' }),
  (prng) => ({ kind: 'redis-loses', lostMs: prng.between(500, 1500) }),
  (prng) => ({ kind: 'redis-frozen', forMs: prng.between(4000, 8000) }),
];

/** So many of them, none twice before all have been. */
export function chooseDisturbances(prng: Prng, count: number, isShort: boolean): Disturbance[] {
  const makers = isShort ? SHORT : LONG;
  const chosen: Disturbance[] = [];
  while (chosen.length < count)
    for (const make of prng.shuffled(makers)) if (chosen.length < count) chosen.push(make(prng));
  return chosen;
}
