import { writeFile } from 'node:fs/promises';
import { inspect, parseArgs } from 'node:util';
import { planRound } from './plan.ts';
import { runRound } from './run-round.ts';
import { startWorld } from './world.ts';

/** `npm run chaos -- --minutes 60 --seed 7`: rounds of trouble until the time is over or the gateway does not recover. */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000) % 1_000_000) },
    round: { type: 'string', default: '1' },
    'requests-per-second': { type: 'string', default: '8' },
    'round-seconds': { type: 'string', default: '25' },
    /** Only what a gateway recovers from within seconds. */
    short: { type: 'boolean', default: false },
    every: { type: 'string', default: '3000' },
    /** Where the last round's log lines go. */
    log: { type: 'string' },
  },
});
const seed = Number(values.seed);
const say = (line: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

say(`seed ${seed}`);
await using resources = new AsyncDisposableStack();
const world = resources.adopt(await startWorld(seed), (owned) => owned.close());
const endAt = performance.now() + Number(values.minutes) * 60_000;
let failed = 0;
for (
  let round = Number(values.round);
  round === Number(values.round) || performance.now() < endAt;
  round += 1
) {
  const plan = planRound({
    seed,
    round,
    durationMs: Number(values['round-seconds']) * 1000,
    requestsPerSecond: Number(values['requests-per-second']),
    disturbanceEveryMs: Number(values.every),
    isShort: values.short,
  });
  say(
    `round ${round}: ${plan.disturbances.map(({ atMs, disturbance }) => `${atMs} ${JSON.stringify(disturbance)}`).join(' ')}`,
  );
  let isBroken = false;
  const violations = await runRound(world, plan).catch((error: unknown) => {
    isBroken = true;
    return [inspect(error)];
  });
  failed += violations.length;
  say(`round ${round}: ${plan.requests.length} requests, ${violations.length} violations`);
  for (const violation of violations) say(`  ${violation}`);
  if (values.log !== undefined) {
    const lines = [...world.events, ...world.lines.map((line) => `${line.process} ${line.text}`)];
    await writeFile(`${values.log}.${round}`, lines.join('\n'));
  }
  // What did not come back within its time is no ground for another round.
  if (isBroken) break;
}
if (failed > 0) say(`again: npm run chaos -- --seed ${seed} --minutes ${values.minutes}`);
process.exitCode = failed > 0 ? 1 : 0;
