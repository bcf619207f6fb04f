import type { RecordedRequest } from './recorded-request.ts';

export type RequestPredicate = (request: RecordedRequest) => boolean;

export interface RequestLog {
  readonly requests: readonly RecordedRequest[];
  add(request: RecordedRequest): void;
  /** The first received request that matches and that no earlier call returned; waits for one if need be. */
  next(predicate?: RequestPredicate): Promise<RecordedRequest>;
  clear(): void;
}

interface Waiter {
  readonly predicate: RequestPredicate;
  readonly resolve: (request: RecordedRequest) => void;
}

const MAX_REQUESTS = 1000;
const MAX_BODIES_BYTES = 128 * 1024 * 1024;

/** Keeps the last requests, bounded by count and by the bytes of their bodies. */
export const createRequestLog = (): RequestLog => {
  const requests: RecordedRequest[] = [];
  const returned = new WeakSet<RecordedRequest>();
  const received = new WeakSet<RecordedRequest>();
  let waiters: Waiter[] = [];
  let bodiesBytes = 0;

  const trim = (): void => {
    while (requests.length > MAX_REQUESTS || (bodiesBytes > MAX_BODIES_BYTES && requests.length > 1)) {
      bodiesBytes -= requests.shift()?.body.length ?? 0;
    }
  };
  const offer = (request: RecordedRequest): void => {
    received.add(request);
    bodiesBytes += request.body.length;
    trim();
    const waiter = waiters.find(({ predicate }) => predicate(request));
    if (!waiter) return;
    waiters = waiters.filter((other) => other !== waiter);
    returned.add(request);
    waiter.resolve(request);
  };

  return {
    requests,
    add: (request) => {
      requests.push(request);
      trim();
      void request.received.then(() => offer(request));
    },
    next: (predicate = () => true) => {
      const found = requests.find(
        (request) => received.has(request) && !returned.has(request) && predicate(request),
      );
      if (!found) return new Promise((resolve) => waiters.push({ predicate, resolve }));
      returned.add(found);
      return Promise.resolve(found);
    },
    clear: () => {
      requests.length = 0;
      bodiesBytes = 0;
    },
  };
};
