/** A sequence of pseudo-random numbers: the same seed gives the same sequence, on every machine. */
export interface Prng {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** The same items in another order. */
  shuffled<T>(items: readonly T[]): T[];
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Mulberry32 over the hash of the seed's text; what belongs to one thing has a seed of its own, such as `7 r2x0014`. */
export function createPrng(seed: string): Prng {
  let state = hashOf(seed);
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const pick = <T>(items: readonly T[]): T => {
    const [first] = items.slice(between(0, items.length - 1));
    if (first === undefined) throw new Error('nothing to pick from');
    return first;
  };
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick,
    shuffled: (items) =>
      items
        .map((item) => ({ item, place: next() }))
        .sort((one, other) => one.place - other.place)
        .map(({ item }) => item),
  };
}
