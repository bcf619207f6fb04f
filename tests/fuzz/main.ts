import { inspect, parseArgs } from 'node:util';
import { ALL_PROPERTIES } from './all-properties.ts';
import { startFuzzedGateway } from './fuzzed-gateway.ts';

/** `npm run fuzz -- --minutes 30 --seed 7 --only headers`: every property, with seed after seed, until the time is over. */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000) % 1_000_000) },
    only: { type: 'string' },
    runs: { type: 'string', default: '300' },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
await using resources = new AsyncDisposableStack();
const gateway = resources.adopt(await startFuzzedGateway(), (owned) => owned.close());
const endAt = performance.now() + Number(values.minutes) * 60_000;
const broken = new Set<string>();
for (let seed = Number(values.seed); performance.now() < endAt; seed += 1) {
  for (const { name, run } of ALL_PROPERTIES) {
    if ((values.only !== undefined && !name.includes(values.only)) || broken.has(name)) continue;
    try {
      await run(gateway, { seed, numRuns: Number(values.runs) });
      say(`${name}, seed ${seed}: holds`);
    } catch (error) {
      broken.add(name);
      say(`${name}, seed ${seed}: ${inspect(error)}`);
      for (const { text } of gateway.lines
        .filter(({ text: line }) => line.includes('"error.code":"internal"'))
        .slice(-1))
        say(text);
    }
  }
}
process.exitCode = broken.size > 0 ? 1 : 0;
