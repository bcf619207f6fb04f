import { GatewayError } from '@gateway/contracts/gateway-error';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { Lane } from './client-event.ts';

/** One response that is to be made. */
export interface LaneWork {
  readonly lane: Lane;
  /** What it holds in memory while it waits. */
  readonly bytes: number;
  /** Counts what it holds in memory while it waits, until the returned function is called. @throws {GatewayError} where that is too much */
  hold(): () => void;
  /** Never rejects. */
  run(): Promise<void>;
  /** Answers it without running it. */
  refuse(error: GatewayError): void;
}

interface WaitingWork {
  readonly work: LaneWork;
  readonly release: () => void;
}

export interface LaneBounds {
  /** Responses under way at a time; more wait. */
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  /** Named lanes in a connection's life. */
  readonly maxNamed: number;
}

export interface Lanes {
  /** Runs it when its turn comes, or refuses it. */
  add(work: LaneWork): void;
  /** Refuses everything that has not begun. */
  refuseWaiting(error: () => GatewayError): void;
  /** Neither running nor waiting. */
  readonly isIdle: boolean;
}

/** The responses of one connection: of a lane one after the other, of several lanes side by side. */
export function createLanes(
  { maxRunning, maxWaiting, maxWaitingBytes, maxNamed }: LaneBounds,
  onIdle: () => void,
): Lanes {
  const named = new Set<string>();
  const busy = new Set<Lane>();
  let waiting: WaitingWork[] = [];
  let waitingBytes = 0;

  const start = (work: LaneWork) => {
    busy.add(work.lane);
    void work.run().then(() => {
      busy.delete(work.lane);
      startNext();
      if (busy.size === 0) onIdle();
    });
  };

  const startNext = () => {
    while (busy.size < maxRunning) {
      const at = waiting.findIndex(({ work }) => !busy.has(work.lane));
      const [next] = at === -1 ? [] : waiting.splice(at, 1);
      if (next === undefined) return;
      waitingBytes -= next.work.bytes;
      next.release();
      start(next.work);
    }
  };

  const wait = (work: LaneWork) => {
    try {
      waiting.push({ work, release: work.hold() });
      waitingBytes += work.bytes;
    } catch (error) {
      work.refuse(toGatewayError(error));
    }
  };

  return {
    add: (work) => {
      const { lane, bytes } = work;
      const isNew = lane !== null && !named.has(lane);
      if (isNew && named.size >= maxNamed) {
        work.refuse(tooManyLanes(maxNamed));
        return;
      }
      if (isNew) named.add(lane);
      if (busy.size < maxRunning && !busy.has(lane)) start(work);
      else if (waiting.length >= maxWaiting || waitingBytes + bytes > maxWaitingBytes)
        work.refuse(tooManyWaiting(waiting.length));
      else wait(work);
    },
    refuseWaiting: (error) => {
      const refused = waiting;
      waiting = [];
      waitingBytes = 0;
      for (const { work, release } of refused) {
        release();
        work.refuse(error());
      }
    },
    get isIdle() {
      return busy.size === 0 && waiting.length === 0;
    },
  };
}

const tooManyLanes = (limit: number): GatewayError =>
  new GatewayError('websocket_stream_limit_reached', {
    path: ['stream_id'],
    message: `A WebSocket has at most ${limit} named streams in its lifetime. Use one of them, or open another WebSocket.`,
  });

const tooManyWaiting = (count: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `${count} responses are already waiting on this WebSocket, which is the maximum. Wait until one of them has ended.`,
    retryAfterSeconds: 1,
  });
