import { type Endpoint, isForWork, isSocket } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity, KeyPriority } from '@gateway/contracts/identity';
import type { LoadSettings } from '../config.ts';
import type { MetricsRegistry } from '../metrics.ts';
import { createLoadMetrics } from './load-metrics.ts';
import type { ProcessLoad } from './process-load.ts';

/** The bound that a request would have passed. */
export type ShedReason = 'requests_in_flight' | 'body_bytes' | 'event_loop_delay';

/**
 * Bounds what a service or the edge takes on, so that requests in flight stay fast. Requests beyond the
 * bounds are refused at once, the newest first. A request that has begun is never given up.
 */
export interface LoadGuard {
  /** Admits one more request, before any of its body is held. @throws {GatewayError} `overloaded` */
  admit(endpoint: Endpoint, identity: Identity | null): void;
  /** The bound on the bytes of bodies in memory. */
  readonly maxBodyBytes: number;
  /** Counts bytes that are held for a caller outside of a request under way. */
  hold(endpoint: Endpoint, identity: Identity | null): HeldBytes;
  /** Counts a request of this part until it `end`s. */
  begin(endpoint: Endpoint, identity: Identity | null): RequestLoad;
}

/** Bytes that are held beside the requests under way, such as those of requests that wait, or have not arrived yet. */
export interface HeldBytes {
  /** Sets how many there are now. @throws {GatewayError} `overloaded` where they would be too many; then they stay as they were */
  set(bytes: number): void;
}

/** What one request holds. */
export interface RequestLoad {
  /** @throws {GatewayError} `overloaded` */
  admit(bodyBytes: number): void;
  /** Call it when bytes of a body have arrived whose length was not announced. @throws {GatewayError} `overloaded` */
  hold(bodyBytes: number): void;
  /** Counts bytes that were made of its body. They refuse others, not the request, which has begun. */
  add(bodyBytes: number): void;
  /** Call it when the body is no longer in memory. */
  dropBody(): void;
  end(): void;
}

interface LoadGuardOptions {
  readonly settings: LoadSettings;
  readonly process: ProcessLoad;
  readonly metrics: MetricsRegistry;
  /** Called for each refused request of a key. */
  readonly onShed: (identity: Identity, endpoint: Endpoint) => void;
  /** Counts the requests in flight where they do not `begin` here. */
  readonly inFlight?: () => number;
}

/** Shares of each bound by priority: what is left above them is for keys of a higher one. */
const SHARES: Readonly<Record<KeyPriority, { readonly amount: number; readonly delay: number }>> = {
  low: { amount: 0.7, delay: 0.5 },
  normal: { amount: 0.9, delay: 1 },
  high: { amount: 1, delay: 2 },
};

/** With fewer requests in flight a late event loop is the work of one of them, and no overload. */
const MIN_IN_FLIGHT_FOR_DELAY = 16;

/** Spreads the retries of callers that were refused at the same time. */
const MAX_RETRY_AFTER_SECONDS = 4;

export function createLoadGuard({
  settings,
  process,
  metrics,
  onShed,
  inFlight,
}: LoadGuardOptions): LoadGuard {
  const state: GuardState = { requests: 0, process };
  const count = inFlight ?? (() => state.requests);
  const shown = createLoadMetrics(metrics, () => ({ requests: count(), bodyBytes: process.bodyBytes }));
  let shed = 0;

  const refuse = (reason: ShedReason, { endpoint, identity, priority }: Arrival): never => {
    shed += 1;
    shown.shed({ reason, priority });
    if (identity !== null) onShed(identity, endpoint);
    throw overloaded(reason, 1 + (shed % MAX_RETRY_AFTER_SECONDS));
  };
  const isLate = (requests: number, share: number): boolean => {
    if (Math.max(requests, process.requests) >= MIN_IN_FLIGHT_FOR_DELAY)
      return process.eventLoopDelayMs() > settings.MAX_EVENT_LOOP_DELAY_MS * share;
    process.rest();
    return false;
  };
  const checkBody: Checks['checkBody'] = (bodyBytes, othersBytes, arrival) => {
    // A body that alone is larger than the bound is let in while it is alone.
    if (bodyBytes === 0 || othersBytes === 0) return;
    const maxBytes = settings.MAX_BODY_BYTES_IN_FLIGHT * SHARES[arrival.priority].amount;
    if (othersBytes + bodyBytes > maxBytes) refuse('body_bytes', arrival);
  };
  /** `requests` is without the new one. */
  const checkRequest: Checks['checkRequest'] = (requests, arrival) => {
    const { amount, delay } = SHARES[arrival.priority];
    if (requests >= settings.MAX_REQUESTS_IN_FLIGHT * amount) refuse('requests_in_flight', arrival);
    if (isLate(requests, delay)) refuse('event_loop_delay', arrival);
  };
  const checks: Checks = { checkBody, checkRequest };
  return {
    admit: (endpoint, identity) => checkRequest(count(), arrivalOf(endpoint, identity)),
    maxBodyBytes: settings.MAX_BODY_BYTES_IN_FLIGHT,
    hold: (endpoint, identity) => {
      let held = 0;
      return {
        set: (bytes) => {
          if (bytes > held) checkBody(bytes, process.bodyBytes - held, arrivalOf(endpoint, identity));
          process.bodyBytes += bytes - held;
          held = bytes;
        },
      };
    },
    begin: (endpoint, identity) => new CountedLoad(state, checks, arrivalOf(endpoint, identity)),
  };
}

/** The identity and the endpoint of a request. */
interface Arrival {
  readonly endpoint: Endpoint;
  readonly identity: Identity | null;
  readonly priority: KeyPriority;
}

const arrivalOf = (endpoint: Endpoint, identity: Identity | null): Arrival => ({
  endpoint,
  identity,
  priority: priorityOf(endpoint, identity),
});

/** What all requests of one guard share. */
interface GuardState {
  requests: number;
  readonly process: ProcessLoad;
}

interface Checks {
  readonly checkBody: (bodyBytes: number, othersBytes: number, arrival: Arrival) => void;
  readonly checkRequest: (requests: number, arrival: Arrival) => void;
}

class CountedLoad implements RequestLoad {
  readonly #state: GuardState;
  readonly #checks: Checks;
  readonly #arrival: Arrival;
  #bodyBytes = 0;
  #hasEnded = false;

  constructor(state: GuardState, checks: Checks, arrival: Arrival) {
    this.#arrival = arrival;
    this.#state = state;
    this.#checks = checks;
    state.requests += 1;
    state.process.requests += 1;
  }

  admit(bodyBytes: number): void {
    this.#checks.checkRequest(this.#state.requests - 1, this.#arrival);
    this.hold(bodyBytes);
  }

  hold(bodyBytes: number): void {
    const { process } = this.#state;
    const wholeBytes = this.#bodyBytes + bodyBytes;
    this.#checks.checkBody(wholeBytes, process.bodyBytes - this.#bodyBytes, this.#arrival);
    this.add(bodyBytes);
  }

  add(bodyBytes: number): void {
    if (this.#hasEnded) return;
    this.#state.process.bodyBytes += bodyBytes;
    this.#bodyBytes += bodyBytes;
  }

  dropBody(): void {
    this.#state.process.bodyBytes -= this.#bodyBytes;
    this.#bodyBytes = 0;
  }

  end(): void {
    this.#state.requests -= 1;
    this.#state.process.requests -= 1;
    this.dropBody();
    this.#hasEnded = true;
  }
}

/** For the log; callers learn only that there is too much to do. */
const overloaded = (reason: ShedReason, retryAfterSeconds: number): GatewayError =>
  new GatewayError('overloaded', {
    message: {
      openai: 'The gateway is overloaded at the moment. Please try again shortly.',
      anthropic: 'Overloaded',
    },
    retryAfterSeconds,
    cause: reason,
  });

/**
 * A request's priority: its key's for new work, to which a WebSocket leads. Reading results and cancelling are refused
 * last: they end work.
 */
export const priorityOf = (endpoint: Endpoint, identity: Pick<Identity, 'priority'> | null): KeyPriority =>
  isForWork(endpoint) || isSocket(endpoint) ? (identity?.priority ?? 'normal') : 'high';
