import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Reading } from '../wire/replies.ts';
import { heldPlaces, unaccounted } from './accounting.ts';
import { createKeys, type Keys, readBooks, settleAll } from './books.ts';
import { excessOf, holdingsOf } from './holdings.ts';
import { INVARIANTS } from './invariants.ts';
import type { Plan, PlannedRequest } from './plan.ts';
import { miscountedResponses } from './realtime-accounting.ts';
import { kindOf } from './request-kinds.ts';
import type { Round, Travelled } from './round.ts';
import { createTrip } from './trip.ts';
import type { World } from './world.ts';

const QUIET = { timeoutMs: 60_000 };
const ACCOUNTED = { timeoutMs: 10_000 };
/** Folders whose files belong to requests on their way. */
const PASSING = ['uploads', 'usage-spool'];

/** Plays a plan, waits until all is quiet, and returns what is wrong; in words, each with the invariant that it breaks. */
export async function runRound(world: World, plan: Plan): Promise<string[]> {
  world.forget();
  const keys = await createKeys(world, plan);
  const beganAt = performance.now();
  const at = async <T>(atMs: number, action: () => Promise<T>): Promise<T> => {
    await delay(Math.max(0, beganAt + atMs - performance.now()));
    return action();
  };
  const happening = plan.disturbances.map(({ atMs, disturbance }) =>
    at(atMs, () => world.disturb(disturbance)),
  );
  const travelling = plan.requests.map((planned) =>
    at(planned.atMs, () => travel(world, plan, keys, planned)),
  );
  const happened = await Promise.all(happening);
  const travelled = await Promise.all(travelling);

  await world.serving();
  await waitFor(() => world.unanswered() === 0, QUIET).catch(() => undefined);
  const attempted = [...world.attempted];
  const read = () => readBooks(world, keys, plan.round);
  // What is still being settled must not be taken for abandoned.
  const isAccounted = async () => {
    const known = {
      travelled,
      happened,
      attempted,
      books: await read(),
      abandoned: Number.POSITIVE_INFINITY,
    };
    return [unaccounted, miscountedResponses, heldPlaces].every((check) => check(known).length === 0);
  };
  await waitFor(isAccounted, ACCOUNTED).catch(() => undefined);
  const abandoned = await settleAll(world);
  // Workers sweep, every hour, what a killed process leaves and what Redis has forgotten.
  const isSwept = happened.some(({ disturbance: { kind } }) =>
    ['kill', 'redis-loses', 'redis-emptied'].includes(kind),
  );
  const leftFiles = isSwept ? [] : await quietFiles(world);
  const round: Round = {
    plan,
    travelled,
    happened,
    attempted,
    books: await read(),
    abandoned,
    unanswered: world.unanswered(),
    leftFiles,
    excess: await quietExcess(world),
    lines: [...world.lines],
  };
  return INVARIANTS.flatMap(({ name, check }) => check(round).map((violation) => `${name}: ${violation}`));
}

async function travel(world: World, plan: Plan, keys: Keys, planned: PlannedRequest): Promise<Travelled> {
  const trip = createTrip({
    seed: plan.seed,
    planned,
    secret: keys[planned.key].key,
    origin: world.stack.process(planned.edge).url ?? '',
    webhooks: { ...world.webhooks, secret: keys[planned.key].webhookSecret },
    referenceUrl: world.referenceUrl,
  });
  const beganAt = performance.now();
  const reading = await kindOf(planned.kind)
    .run(trip)
    .catch((error: unknown): Reading => ({ text: null, failure: null, problems: [String(error)] }));
  return { planned, exchanges: trip.exchanges, reading, beganAt, endedAt: performance.now() };
}

/** What is left in the folders of passing files; waits a while for them to be empty. */
async function quietFiles({ dataFolder }: World): Promise<string[]> {
  const left = async (): Promise<string[]> => {
    const names = await Promise.all(
      PASSING.map(async (folder) =>
        (await readdir(join(dataFolder, folder)).catch(() => [])).map((name) => `${folder}/${name}`),
      ),
    );
    return names.flat();
  };
  await waitFor(async () => (await left()).length === 0, QUIET).catch(() => undefined);
  return left();
}

/** What processes hold on to; waits a while for them to let go. */
async function quietExcess({ stack, dataFolder, heldAtStart }: World): Promise<string[]> {
  const excess = async () => excessOf(heldAtStart, await holdingsOf(stack, dataFolder));
  await waitFor(async () => (await excess()).length === 0, QUIET).catch(() => undefined);
  return excess();
}
