import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../cli/run-command.ts';
import { type Capacity, capacityOf, LIMITED_PARTS } from './capacity.ts';
import { LOAD_FLAGS, readLoad } from './load.ts';

/** The command line, which asks nobody. */
async function capacity(...argv: readonly string[]) {
  const printed: string[] = [];
  const errors: string[] = [];
  const code = await runCommand({
    argv: ['capacity', ...argv],
    env: {},
    fetch: () => Promise.reject(new Error('No service is asked.')),
    now: () => 0,
    userName: 'test',
    print: (text) => void printed.push(text),
    write: async () => undefined,
    printError: (text) => void errors.push(text),
  });
  return { code, printed: printed.join('\n'), errors: errors.join('\n') };
}

/** How much there is of a part, not how much is needed of it. */
const SIZES = ['redis-gb', 'disk-gb'];
const STEPS = [0.05, 0.3, 0.7, 1];
const BASES = [
  { rps: '5', jobs: '0.1' },
  { rps: '900', jobs: '3', seconds: '60', 'body-kb': '120' },
  { rps: '20000', streams: '100', stored: '100' },
];

const numbersOf = ({ utilisation, bottleneck: _, fullAtRps: __, ...needs }: Capacity): readonly number[] => [
  ...Object.values(needs),
  ...Object.values(utilisation),
];

test.for(Object.entries(LOAD_FLAGS).filter(([name]) => !SIZES.includes(name)))(
  'more of --%s never needs less of anything',
  ([name, { min, max }]) => {
    for (const base of BASES) {
      const values = STEPS.map((step) => String(min + (max - min) * step ** 3));
      const needs = values.map((value) => numbersOf(capacityOf(readLoad({ ...base, [name]: value }))));
      for (const [at, next] of needs.entries())
        for (const [part, value] of next.entries())
          expect([part, value >= (needs[at - 1]?.[part] ?? 0)]).toEqual([part, true]);
    }
  },
);

test('what gives way first is the part of which most is used, and is full where it is said to be', () => {
  const seen = new Set<string>();
  const loads = [{}, { 'redis-gb': '100000' }, { 'redis-gb': '100000', 'disk-gb': '10000000' }];
  for (const base of [...BASES, { rps: '1', average: '100' }, { rps: '1', stored: '0', average: '100' }])
    for (const more of loads) {
      const load = readLoad({ keys: '0', ...base, jobs: '0', ...more });
      const { utilisation, bottleneck, fullAtRps } = capacityOf(load);
      expect(utilisation[bottleneck]).toBe(Math.max(...LIMITED_PARTS.map((part) => utilisation[part])));
      expect(capacityOf({ ...load, rps: fullAtRps }).utilisation[bottleneck]).toBeCloseTo(1, 6);
      seen.add(bottleneck);
    }
  expect(seen.size).toBeGreaterThan(2);
});

test('the page about scale has what the command prints, and every figure with its source', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../../docs/scale.md'), 'utf8');
  for (const flag of ['--table', '--costs']) {
    const { code, printed } = await capacity(flag);
    expect(code).toBe(0);
    expect(page).toContain(`\n${printed}\n`);
  }
  for (const [name, { meaning }] of Object.entries(LOAD_FLAGS))
    expect(page).toMatch(new RegExp(`\\| \`--${name}\` .*${meaning.slice(0, 20)}`));
});

test('it prints the numbers themselves for programs, and its options', async () => {
  const { printed } = await capacity('--rps', '200', '--streams', '50', '--json');
  const Printed = z.looseObject({ capacity: z.looseObject({ inFlight: z.literal(2000) }) });
  expect(Printed.safeParse(JSON.parse(printed)).error).toBeUndefined();
  const help = await capacity('--help');
  expect(help.code).toBe(0);
  for (const name of Object.keys(LOAD_FLAGS)) expect(help.printed).toContain(`--${name} NUMBER`);
});

test.for([
  [[], '--rps is missing: requests a second, at the busiest, such as --rps 200.'],
  [
    ['--rps', 'many'],
    "--rps is requests a second, at the busiest: a number from 0.001 to 1000000, not 'many'.",
  ],
  [['--rps', '0'], "a number from 0.001 to 1000000, not '0'."],
  [['--rps', '5', '--streams', '120'], "in percent: a number from 0 to 100, not '120'."],
  [['--rps', '5', '--keys', ''], "a number from 0 to 10000000, not ''."],
  [['--rps', '5', '--spee', '1'], "Unknown option '--spee'"],
  [['--rps'], "'--rps <value>' argument missing"],
  [['--rps', '5', '7'], "Unexpected argument '7'"],
  [['--table', '--rps', '5'], '--table has loads of its own: leave out --rps.'],
] as const)('%j is refused in a sentence', async ([argv, message]) => {
  const { code, printed, errors } = await capacity(...argv);
  expect([code, printed]).toEqual([2, '']);
  expect(errors).toContain(message);
  expect(errors).toContain('See npm run gateway -- capacity --help');
});
