import { GatewayError } from '@gateway/contracts/gateway-error';
import { newJobId } from './job-keys.ts';
import { type JobTurns, type NoPlace, PLACE_RENEWAL_MS, type TurnTaker } from './turns/job-turns.ts';

/** A place in a queue, kept for a job that is still being read. */
export interface QueuePlace extends AsyncDisposable {
  readonly id: string;
  /** Gives it back, unless a job has been stored in it. Never rejects: a place that is not given back becomes free within a minute. */
  free(): Promise<void>;
}

export interface QueuePlaces {
  /** @throws {GatewayError} `queue_full` */
  reserve(queue: string, taker: TurnTaker): Promise<QueuePlace>;
  /** A job has been stored in it. */
  used(placeId: string): void;
  close(): void;
}

interface PlacesOptions {
  readonly turns: JobTurns;
  /** Jobs per queue that may wait, reserved places included. */
  readonly maxWaiting: number;
  readonly onError: (error: unknown) => void;
}

/** The places that this process has reserved; they are renewed for as long as they are held. */
export function createQueuePlaces({ turns, maxWaiting, onError }: PlacesOptions): QueuePlaces {
  const held = new Map<string, string>();
  const renewing = setInterval(() => {
    for (const [queue, places] of Map.groupBy(held, ([, name]) => name))
      turns
        .renewPlaces(
          queue,
          places.map(([id]) => id),
        )
        .catch(onError);
  }, PLACE_RENEWAL_MS).unref();
  const free = async (id: string): Promise<void> => {
    const queue = held.get(id);
    if (queue !== undefined && held.delete(id)) await turns.freePlace(queue, id).catch(onError);
  };
  return {
    reserve: async (queue, taker) => {
      const id = `${newJobId()} ${taker.keyId}`;
      const none = await turns.reservePlace(queue, id, taker, maxWaiting);
      if (none !== undefined) throw queueFull(none, maxWaiting);
      held.set(id, queue);
      const freeIt = () => free(id);
      return { id, free: freeIt, [Symbol.asyncDispose]: freeIt };
    },
    used: (id) => void held.delete(id),
    close: () => clearInterval(renewing),
  };
}

/** Where nothing has been measured. */
const DEFAULT_WAIT_SECONDS = 5;
const MAX_WAIT_SECONDS = 300;
/** Of the queue: when so much has become free, those who were refused may come again. */
const FREED_SHARE = 0.02;

/** How long so many jobs take, in whole seconds. */
export const secondsFor = (jobs: number, endIntervalMs: number | undefined): number | undefined =>
  endIntervalMs === undefined
    ? undefined
    : Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil((jobs * endIntervalMs) / 1000)));

function queueFull({ waiting, own, endIntervalMs }: NoPlace, maxWaiting: number): GatewayError {
  const retryAfterSeconds =
    secondsFor(Math.max(1, maxWaiting * FREED_SHARE), endIntervalMs) ?? DEFAULT_WAIT_SECONDS;
  const isFull = waiting >= maxWaiting;
  const reason = isFull
    ? `The queue is full: ${waiting} jobs are waiting.`
    : `The queue has no more room for this key: ${own} of its jobs are waiting, and the rest is kept for other keys.`;
  return new GatewayError('queue_full', {
    message: `${reason} Please try again in ${retryAfterSeconds}s.`,
    retryAfterSeconds,
  });
}
