import { heldPlaces, unaccounted } from './accounting.ts';
import { aroundOf, CIRCUMSTANCES } from './circumstances.ts';
import { miscountedResponses, unfoundedEnds } from './realtime-accounting.ts';
import { kindOf } from './request-kinds.ts';
import { type Round, shown, type Travelled } from './round.ts';

interface Invariant {
  readonly name: string;
  /** What breaks it. */
  readonly check: (round: Round) => string[];
}

/** The provider may have done it. */
const mayHaveDone = ({ stage, used }: Round['attempted'][number]): boolean =>
  used !== null && stage !== 'refused';

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

/** A process that starts while Redis is away, or the configuration is not usable, says so and is started again. */
const CANNOT_START =
  /^Redis does not answer at REDIS_URL|gateway\.yaml has (?:one mistake|\d+ mistakes):$|^ {2}(?:found nothing|line \d+, )/;

const hasLost = ({ happened }: Round): boolean =>
  happened.some(({ disturbance }) => disturbance.kind === 'redis-loses');
const mayAbandon = ({ happened }: Round): boolean =>
  happened.some(
    ({ disturbance: { kind } }) => kind === 'kill' || kind === 'stop' || kind.startsWith('redis'),
  );

/** What holds whatever happened. */
export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'every request gets a well-formed answer, without a wrong byte',
    check: ({ travelled }) =>
      travelled.flatMap((trip) => trip.reading.problems.map((problem) => `${shown(trip)} ${problem}`)),
  },
  {
    name: 'nothing is an internal error',
    check: ({ travelled }) =>
      travelled.flatMap((trip) =>
        trip.exchanges
          .filter(({ status, headers }) => status === 500 && headers['x-gateway-refused-by'] !== 'upstream')
          .map(({ body }) => `${shown(trip)} ${body.toString()}`),
      ),
  },
  {
    name: 'nothing fails that a healthy alternative could have answered',
    check: ({ travelled, happened, attempted }) =>
      travelled.flatMap((trip) => {
        const { failure } = trip.reading;
        if (failure === null) return [];
        const around = aroundOf(trip, happened, attempted);
        const holding = CIRCUMSTANCES.filter(({ holds }) => holds(trip, around));
        if (holding.some(({ allows }) => allows(failure, trip))) return [];
        const tried = around.attempted.map(
          ({ provider, fault, isComplete }) => `${provider} ${fault}${isComplete ? ', complete' : ''}`,
        );
        const during = around.happened.map(({ disturbance }) => JSON.stringify(disturbance));
        return [
          `${shown(trip)} tried: ${tried.join('; ')}; holding: ${holding.map(({ name }) => name).join(', ')}; during: ${during.join(' ')}`,
        ];
      }),
  },
  {
    name: 'paid work is done at most once',
    check: (round) => {
      const done = round.attempted.filter(mayHaveDone);
      return round.travelled
        .filter(({ planned }) => kindOf(planned.kind).work === 'paid')
        .flatMap((trip) => {
          const { planned } = trip;
          const allowed = planned.kind === 'repeated image' ? imagesOfOneKey(trip, round) : 1;
          return [...countBy(done, ({ mark }) => mark)]
            .filter(([mark, times]) => mark.startsWith(`${planned.name}t`) && times > allowed)
            .map(([mark, times]) => {
              const by = done
                .filter((one) => one.mark === mark)
                .map(({ provider, fault }) => `${provider} ${fault}`);
              const answers = trip.exchanges.map(({ status, end }) => `${status} ${end}`);
              return `${mark} (${planned.kind}) was done ${times} times, by ${by.join('; ')}; answers: ${answers.join('; ')}`;
            });
        });
    },
  },
  {
    name: 'what was answered is accounted, once',
    check: (round) => (hasLost(round) ? [] : unaccounted(round)),
  },
  {
    name: 'no record is there twice',
    check: ({ books }) =>
      Object.values(books.records).flatMap((records) =>
        [...countBy(records, ({ id }) => id)].filter(([, times]) => times > 1).map(([id]) => id),
      ),
  },
  {
    name: 'nothing stays reserved, and what is spent is the sum of the records',
    check: (round) => {
      const { books } = round;
      const sum = books.records.budgeted.reduce((total, { costMicroUsd }) => total + costMicroUsd, 0);
      return (
        books.balances
          // A reservation that Redis has lost is not taken from a budget any more.
          .filter(({ spent, reserved }) => reserved !== 0 || (hasLost(round) ? spent > sum : spent !== sum))
          .map(({ of, spent, reserved }) => `${of}: spent ${spent}, reserved ${reserved}, records ${sum}`)
      );
    },
  },
  {
    name: 'a response of a realtime session is charged once, or not at all, as its provider reports it',
    check: miscountedResponses,
  },
  {
    name: 'realtime sessions of processes that are not killed go on',
    check: unfoundedEnds,
  },
  {
    name: "no request keeps its place in its key's concurrent requests",
    check: heldPlaces,
  },
  {
    name: 'no reservation outlives its request, but for a process or a Redis that died',
    check: (round) => (round.abandoned > 0 && !mayAbandon(round) ? [`${round.abandoned} were left`] : []),
  },
  {
    name: 'no request to a provider is left open',
    check: ({ unanswered }) => (unanswered > 0 ? [`${unanswered} are`] : []),
  },
  {
    name: 'no file of a request outlives it',
    check: ({ leftFiles }) => [...leftFiles],
  },
  {
    name: 'no process keeps connections, timers, memory or open files of what is over',
    check: ({ excess }) => [...excess],
  },
  {
    name: 'no process writes what is no log line',
    check: ({ lines }) =>
      lines
        .filter(({ text }) => !text.startsWith('{') && !CANNOT_START.test(text))
        .slice(0, 10)
        .map(({ process, text }) => `${process}: ${text}`),
  },
];

/** How many images requests under one idempotency key may make. */
function imagesOfOneKey(trip: Travelled, { happened, attempted }: Round): number {
  // After a failure the key may be used again, which a concurrent request does: what failed may have been done, and is done again by
  // the one that all the others share.
  const failed = trip.exchanges.filter(({ status }) => status !== 200).length;
  const shared = failed < trip.exchanges.length ? 1 : 0;
  // Redis alone knows what a key names: where it has lost that, the next request is the first one.
  const around = aroundOf(trip, happened, attempted).happened;
  const lost = around.filter(
    ({ disturbance: { kind } }) => kind === 'redis-loses' || kind === 'redis-emptied',
  ).length;
  return Math.max(1, failed + shared) + lost;
}
