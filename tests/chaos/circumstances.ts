import type { Failure } from '../wire/replies.ts';
import { kindOf } from './request-kinds.ts';
import type { Travelled } from './round.ts';
import type { Attempted, Happened } from './world.ts';

/** Something that excuses a failure, and which failures it excuses. Nothing else does: a healthy provider was always there. */
interface Circumstance {
  readonly name: string;
  readonly holds: (trip: Travelled, around: Around) => boolean;
  readonly allows: (failure: Failure, trip: Travelled) => boolean;
}

/** What happened while a request was on its way. */
export interface Around {
  /** What overlapped with it. */
  readonly happened: readonly Happened[];
  /** What providers got of it. */
  readonly attempted: readonly Attempted[];
}

const isPaid = ({ planned }: Travelled): boolean => kindOf(planned.kind).work === 'paid';
const AWAY: readonly number[] = [429, 502, 503, 504, 529];

export const CIRCUMSTANCES: readonly Circumstance[] = [
  {
    name: 'a provider broke off within its answer',
    holds: (_, { attempted }) => attempted.some(({ stage, isComplete }) => stage === 'begun' && !isComplete),
    // What is not passed on as it comes is asked of another. The failure of a response in the background is found with a 200.
    allows: ({ where, status }) => where !== 'reply' || status === 200,
  },
  {
    name: 'paid work whose provider gave no answer',
    holds: (trip, { attempted }) =>
      isPaid(trip) && attempted.some(({ stage, isComplete }) => stage !== 'refused' && !isComplete),
    allows: ({ where, status, code }) =>
      where !== 'reply' ||
      code === 'outcome_unknown' ||
      (status === 502 && code === 'upstream_error') ||
      status === 504,
  },
  {
    // A request may lie in its connection, unread.
    name: 'a provider went away',
    holds: (_, { happened }) => happened.some(({ disturbance }) => disturbance.kind === 'provider-away'),
    allows: ({ where, status }) => where !== 'reply' || status === 502 || status === 200,
  },
  {
    name: 'its edge was killed or stopped',
    holds: ({ planned }, { happened }) =>
      happened.some(
        ({ disturbance }) =>
          (disturbance.kind === 'kill' || disturbance.kind === 'stop') &&
          disturbance.process === planned.edge,
      ),
    allows: ({ where }) => where === 'connection',
  },
  {
    name: 'its service was killed',
    holds: ({ planned }, { happened }) =>
      happened.some(
        ({ disturbance }) => disturbance.kind === 'kill' && disturbance.of === kindOf(planned.kind).service,
      ),
    allows: ({ where, status, code }) =>
      where !== 'reply' ||
      status === 503 ||
      status === 529 ||
      code === 'outcome_unknown' ||
      code === 'service_timeout',
  },
  {
    name: 'its worker was killed',
    holds: ({ planned }, { happened }) =>
      happened.some(
        ({ disturbance }) => disturbance.kind === 'kill' && disturbance.of === kindOf(planned.kind).worker,
      ),
    allows: ({ code, status }) => code === 'outcome_unknown' || status === 200,
  },
  {
    name: 'Redis was away',
    holds: (_, { happened }) => happened.some(({ disturbance }) => disturbance.kind.startsWith('redis')),
    allows: ({ where, status }) => where !== 'reply' || status === 200 || AWAY.includes(status),
  },
  {
    name: 'Redis had lost what it had accepted',
    holds: (_, { happened }) =>
      happened.some(({ disturbance: { kind } }) => kind === 'redis-loses' || kind === 'redis-emptied'),
    allows: ({ status, code }) =>
      status === 404 ||
      code === 'result_expired' ||
      code === 'previous_response_not_found' ||
      code === 'conflict',
  },
];

/** Long enough for a failure of the time before to be seen at its end. */
const AFTERMATH_MS = 3000;

/** What overlapped with a trip. What Redis lost is missed by whoever comes later, too. */
export function aroundOf(
  { beganAt, endedAt, planned }: Travelled,
  happened: readonly Happened[],
  attempted: readonly Attempted[],
): Around {
  return {
    happened: happened.filter((each) => each.beganAt <= endedAt && each.endedAt + AFTERMATH_MS >= beganAt),
    attempted: attempted.filter(({ mark }) => mark.startsWith(`${planned.name}t`)),
  };
}
