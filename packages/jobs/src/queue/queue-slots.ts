import { GatewayError } from '@gateway/contracts/gateway-error';
import { newJobId } from '../redis/job-keys.ts';
import { type JobTurns, type NoSlot, SLOT_RENEWAL_MS, type TurnTaker } from '../turns/job-turns.ts';

/** A slot in a queue, kept for a job that is still being read. */
export interface QueueSlot extends AsyncDisposable {
  readonly id: string;
  /** Gives it back, unless a job has been stored in it. Never rejects: a slot that is not given back becomes free within a minute. */
  free(): Promise<void>;
}

export interface QueueSlots {
  /** @throws {GatewayError} `queue_full` */
  reserve(queue: string, taker: TurnTaker): Promise<QueueSlot>;
  /** Call it when a job has been stored in the slot. */
  used(slotId: string): void;
  close(): void;
}

interface SlotsOptions {
  readonly turns: JobTurns;
  /** Jobs per queue that may wait, reserved slots included. */
  readonly maxWaiting: number;
  readonly onError: (error: unknown) => void;
}

/** The slots that this process has reserved; they are renewed for as long as they are held. */
export function createQueueSlots({ turns, maxWaiting, onError }: SlotsOptions): QueueSlots {
  const held = new Map<string, string>();
  const renewing = setInterval(() => {
    for (const [queue, slots] of Map.groupBy(held, ([, name]) => name))
      turns
        .renewSlots(
          queue,
          slots.map(([id]) => id),
        )
        .catch(onError);
  }, SLOT_RENEWAL_MS).unref();
  const free = async (id: string): Promise<void> => {
    const queue = held.get(id);
    if (queue !== undefined && held.delete(id)) await turns.freeSlot(queue, id).catch(onError);
  };
  return {
    reserve: async (queue, taker) => {
      const id = `${newJobId()} ${taker.keyId}`;
      const none = await turns.reserveSlot(queue, id, taker, maxWaiting);
      if (none !== undefined) throw queueFull(none, maxWaiting);
      held.set(id, queue);
      const freeIt = () => free(id);
      return { id, free: freeIt, [Symbol.asyncDispose]: freeIt };
    },
    used: (id) => void held.delete(id),
    close: () => clearInterval(renewing),
  };
}

/** The wait while nothing has been measured. */
const DEFAULT_WAIT_SECONDS = 5;
const MAX_WAIT_SECONDS = 300;
/** The share of the queue that must become free before refused callers may come again. */
const FREED_SHARE = 0.02;

/** How long so many jobs take, in whole seconds. */
export const secondsFor = (jobs: number, endIntervalMs: number | undefined): number | undefined =>
  endIntervalMs === undefined
    ? undefined
    : Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil((jobs * endIntervalMs) / 1000)));

function queueFull({ waiting, own, endIntervalMs }: NoSlot, maxWaiting: number): GatewayError {
  const retryAfterSeconds =
    secondsFor(Math.max(1, maxWaiting * FREED_SHARE), endIntervalMs) ?? DEFAULT_WAIT_SECONDS;
  const isFull = waiting >= maxWaiting;
  const reason = isFull
    ? `The queue is full: ${waiting} jobs are waiting.`
    : `The queue is full for this key: ${own} of its jobs are waiting, and the rest is reserved for other keys.`;
  return new GatewayError('queue_full', {
    message: `${reason} Please try again in ${retryAfterSeconds}s.`,
    retryAfterSeconds,
  });
}
