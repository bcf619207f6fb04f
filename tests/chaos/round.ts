import type { Exchange } from '../wire/exchange.ts';
import type { Reading } from '../wire/replies.ts';
import type { Books } from './books.ts';
import type { Plan, PlannedRequest } from './plan.ts';
import type { Attempted, Happened, World } from './world.ts';

/** A planned request that is over. */
export interface Travelled {
  readonly planned: PlannedRequest;
  readonly exchanges: readonly Exchange[];
  readonly reading: Reading;
  /** `performance.now()`. */
  readonly beganAt: number;
  readonly endedAt: number;
}

/** All that is known of a round when everything is quiet again. */
export interface Round {
  readonly plan: Plan;
  readonly travelled: readonly Travelled[];
  readonly happened: readonly Happened[];
  readonly attempted: readonly Attempted[];
  readonly books: Books;
  readonly abandoned: number;
  readonly unanswered: number;
  /** Files below the data folder that should not outlive their request. */
  readonly leftFiles: readonly string[];
  /** What processes hold on to, in words. */
  readonly excess: readonly string[];
  /** Log lines that only a fault of the gateway's own can write. */
  readonly lines: World['lines'];
}

/** A request in words: what it was, how it failed, and its last exchange. */
export const shown = ({ planned, exchanges, reading }: Travelled): string => {
  const { name, kind, edge, key, manner } = planned;
  const last = exchanges.at(-1);
  const failure = reading.failure
    ? ` ${reading.failure.where} ${reading.failure.status} ${reading.failure.code}`
    : '';
  return `${name} (${kind}, ${edge}, ${key}, ${manner}):${failure}${last ? ` [${last.method} ${last.path} ${last.status} ${last.end}]` : ''}`;
};
