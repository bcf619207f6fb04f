/** `npm run bench`: the gateway, in both ways of running, beside a peer and beside the least that could do the work. */
import process from 'node:process';
import { startFloor } from './floor.ts';
import { type Processes, startGateway } from './gateway.ts';
import { GOALS } from './goals.ts';
import { findLoadGenerator } from './load.ts';
import { readOptions, USAGE } from './options.ts';
import { startPortkey } from './portkey.ts';
import { goalsText, measuredText, rowText } from './report.ts';
import type { Bench, Figures } from './row.ts';
import { ROWS } from './rows.ts';
import { startUpstream } from './upstream.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);

const options = readOptions(
  process.argv.slice(2),
  ROWS.map(({ id }) => id),
);
if (options === null) {
  print(USAGE(ROWS));
  process.exit(2);
}

await using cleanup = new AsyncDisposableStack();
const upstream = await startUpstream();
cleanup.defer(upstream.stop);
const portkey = await startPortkey(upstream.url);
cleanup.defer(portkey.stop);
const floor = await startFloor(upstream.url);
cleanup.defer(floor.stop);
const started = [];
for (const way of ['each', 'one'] as const satisfies readonly Processes[]) {
  const gateway = await startGateway(way, upstream.url);
  cleanup.defer(gateway.plain.stop);
  started.push(gateway);
}

const generator = await findLoadGenerator();
const bench: Bench = {
  generator,
  rounds: { rounds: options.rounds, seconds: options.seconds, connections: 32, warmUp: options.warmUp },
  streams: options.streams,
  portkey,
  floor,
  upstreamUrl: upstream.url,
  gateways: started.map(({ plain }) => plain),
  limited: started.map(({ limited }) => limited),
};
print(
  `Load by ${generator.name}, ${options.rounds} rounds of ${options.seconds} s, after ${options.warmUp} requests that are not counted. Every process of a contender counts; of the gateway also Redis and the starter.`,
);

const measured = new Map<string, Figures>();
for (const row of ROWS.filter(({ id }) => options.only.length === 0 || options.only.includes(id))) {
  const figures = await row.measure(bench);
  measured.set(row.id, figures);
  print(`\n${rowText(row, figures)}`);
}
print(`\n${measuredText(ROWS, measured)}`);
print(`\n${goalsText(ROWS, GOALS, measured)}`);
