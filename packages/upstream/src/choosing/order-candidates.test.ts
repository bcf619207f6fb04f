import { expect, test } from 'vitest';
import type { Candidate } from '../candidate.ts';
import { createCatalog } from '../catalog.ts';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { known } from './known-value.ts';
import type { ChosenBy } from './order-candidates.ts';
import { createRouteLoads, type DecayingMean, type RouteLoads } from './route-loads.ts';

/** The same numbers for the same seed, in [0, 1): mulberry32. */
const seeded = (seed: number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
};
const SEEDS = [1, 2, 3] as const;
const REQUESTS = 20_000;
/** Four times the standard deviation of a share of one half. */
const TOLERANCE = 4 * Math.sqrt(0.25 / REQUESTS);

/** Channels by name, each with its weight and its number of keys. */
type Channels = Readonly<Record<string, { readonly weight: number; readonly keys?: Record<string, number> }>>;

interface Load {
  readonly inFlight?: Readonly<Record<string, number>>;
  readonly firstOutputMs?: Readonly<Record<string, number>>;
}

const nameOf = ({ channel, account }: Candidate): string =>
  channel.accounts.length > 1 ? `${channel.name}/${account.name}` : channel.name;

const chooserOf = (channels: Channels, options: Load & { seed?: number } = {}) => {
  const entries = Object.entries(channels);
  const keysOf = (keys: Record<string, number> = {}): string =>
    Object.entries(keys)
      .map(([name, weight]) => `${name}: { apiKey: k, weight: ${weight} }`)
      .join();
  const file = `
channels:
${entries.map(([name, { keys }]) => `  ${name}: { provider: simulator, ${keys ? `apiKeys: { ${keysOf(keys)} }` : 'apiKey: k'} }`).join('\n')}
models:
  m:
    kind: text
    routes: [${entries.map(([name, { weight }]) => `{ channel: ${name}, weight: ${weight} }`)}]
`;
  const { inFlight = {}, firstOutputMs = {}, seed = 1 } = options;
  const means = new Map<string, Map<string, DecayingMean>>();
  const loads: RouteLoads = createRouteLoads({
    stateOf: (candidate) => ({
      slots: { inFlight: inFlight[nameOf(candidate)] ?? 0 },
      loads: known(means, nameOf(candidate), () => new Map()),
    }),
    clock: () => 0,
  });
  const picks: [string, ChosenBy][] = [];
  const catalog = createCatalog(parseConfiguration(file, 'gateway.yaml', {}), {
    random: seeded(seed),
    loads,
    onPick: (candidate, by) => picks.push([nameOf(candidate), by]),
  });
  const model = catalog.resolveModel('m');
  if (model === null) throw new Error('no model');
  const order = (affinity: string | null = null): readonly Candidate[] =>
    catalog.candidates({
      model,
      protocol: 'responses',
      affinity: () => (affinity === null ? null : { key: affinity }),
    });
  for (const candidate of order()) {
    const ms = firstOutputMs[nameOf(candidate)];
    if (ms !== undefined) loads.addFirstOutput(candidate, ms);
  }
  picks.length = 0;
  return { order: (affinity: string | null = null) => order(affinity).map(nameOf), picks };
};

/** The share of each candidate among the first ones of many requests. */
const shares = (order: (request: number) => readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (let request = 0; request < REQUESTS; request += 1) {
    const [first = ''] = order(request);
    counts[first] = (counts[first] ?? 0) + 1 / REQUESTS;
  }
  return counts;
};

const expectShares = (measured: Record<string, number>, expected: Record<string, number>): void => {
  expect(Object.keys(measured).toSorted()).toEqual(Object.keys(expected).toSorted());
  for (const [name, share] of Object.entries(expected)) {
    expect(Math.abs((measured[name] ?? 0) - share), `${name}: ${measured[name]} for ${share}`).toBeLessThan(
      TOLERANCE,
    );
  }
};

const THREE = { a: { weight: 5 }, b: { weight: 3 }, c: { weight: 2 } };

test.for(SEEDS)('while nothing is known of load, requests follow the weights (seed %d)', (seed) => {
  const { order, picks } = chooserOf(THREE, { seed });
  expectShares(
    shares(() => order()),
    { a: 0.5, b: 0.3, c: 0.2 },
  );
  expect(new Set(picks.map(([, by]) => by))).toEqual(new Set(['weight']));
});

test.for(SEEDS)('loads in proportion to the weights leave the shares as they are (seed %d)', (seed) => {
  const { order } = chooserOf(THREE, { seed, inFlight: { a: 50, b: 30, c: 20 } });
  expectShares(
    shares(() => order()),
    { a: 0.5, b: 0.3, c: 0.2 },
  );
});

test.for([
  ['requests in flight', { inFlight: { a: 9, b: 0 } }],
  ['slow first outputs', { firstOutputMs: { a: 900, b: 100 } }],
  [
    'slow first outputs, with as many requests in flight',
    { firstOutputMs: { a: 900, b: 100 }, inFlight: { a: 5, b: 5 } },
  ],
] as const)('a channel with %s gets no more than when both that are drawn are it', ([, load]) => {
  const { order, picks } = chooserOf({ a: { weight: 3 }, b: { weight: 1 } }, load);
  expectShares(
    shares(() => order()),
    { a: 0.75 ** 2, b: 1 - 0.75 ** 2 },
  );
  expect(picks).toContainEqual(['b', 'load']);
  expect(picks).not.toContainEqual(['a', 'load']);
});

test('small differences of load leave the weights alone', () => {
  const { order } = chooserOf({ a: { weight: 1 }, b: { weight: 1 } }, { firstOutputMs: { a: 110, b: 100 } });
  expectShares(
    shares(() => order()),
    { a: 0.5, b: 0.5 },
  );
});

test('one known time to first output is compared with nothing', () => {
  const { order } = chooserOf({ a: { weight: 1 }, b: { weight: 1 } }, { firstOutputMs: { a: 9_000 } });
  expectShares(
    shares(() => order()),
    { a: 0.5, b: 0.5 },
  );
});

const ACCOUNTS = { a: { weight: 3, keys: { x: 1, y: 2 } }, b: { weight: 1 } };

test.for([null, 'affinity'] as const)(
  "a route's weight is shared out among its accounts (%s)",
  (affinity) => {
    const { order } = chooserOf(ACCOUNTS);
    const measured = shares((request) => order(affinity && `${affinity} ${request}`));
    expectShares(measured, { 'a/x': 0.25, 'a/y': 0.5, b: 0.25 });
  },
);

test.for([null, 'affinity'] as const)(
  'the other accounts of a route follow the one that comes first (%s)',
  (affinity) => {
    const { order } = chooserOf(ACCOUNTS);
    const orders = new Set(
      Array.from({ length: 500 }, (_, request) => order(affinity && `${affinity} ${request}`).join(' ')),
    );
    expect(orders).toEqual(new Set(['a/x a/y b', 'a/y a/x b', 'b a/x a/y', 'b a/y a/x']));
  },
);

test('requests of one conversation come to one candidate, whatever its load; conversations follow the weights', () => {
  const { order, picks } = chooserOf(THREE, { inFlight: { a: 99 }, seed: 7 });
  const others = chooserOf(THREE, { seed: 8 });
  for (let conversation = 0; conversation < 200; conversation += 1)
    expect(order(`c${conversation}`)).toEqual(others.order(`c${conversation}`));
  expectShares(
    shares((request) => order(`conversation ${request}`)),
    { a: 0.5, b: 0.3, c: 0.2 },
  );
  expect(picks.every(([, by]) => by === 'affinity')).toBe(true);
});

test.for([
  ['a channel', { ...THREE, d: { weight: 5 } }, /^d$/, 5 / 15],
  ['a key', { ...THREE, a: { weight: 5, keys: { default: 1, y: 1 } } }, /^a\/y$/, 0.25],
] as const)(
  '%s that is added takes its share of the conversations, and no other one moves',
  ([, after, added, share]) => {
    const before = chooserOf(THREE);
    const next = chooserOf(after);
    let moved = 0;
    for (let request = 0; request < REQUESTS; request += 1) {
      const [was = ''] = before.order(`key ${request}`);
      const [is = ''] = next.order(`key ${request}`);
      if (is.replace('/default', '') === was) continue;
      expect(is).toMatch(added);
      moved += 1 / REQUESTS;
    }
    expect(Math.abs(moved - share)).toBeLessThan(TOLERANCE);
  },
);
