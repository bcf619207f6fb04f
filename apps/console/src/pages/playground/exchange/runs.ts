import { type ExchangeOptions, type RunningExchange, startExchange } from './exchange.ts';
import { createLive, type Live } from './live.ts';

/** One request of a family that has no conversations. */
export interface Run<Answer> {
  readonly id: number;
  readonly exchange: RunningExchange<Answer>;
}

/** The latest requests of a family. */
export interface Runs<Answer> {
  /** The newest first. */
  readonly live: Live<readonly Run<Answer>[]>;
  start(options: ExchangeOptions<Answer>): void;
  stopAll(): void;
}

/** Pictures and sounds take memory. */
const MAX_RUNS = 10;

/** `forget` is called with an answer that is not shown any more. */
export function createRuns<Answer>({ forget }: { forget?: (answer: Answer) => void }): Runs<Answer> {
  const live = createLive<readonly Run<Answer>[]>([]);
  let started = 0;
  return {
    live,
    start: (options) => {
      started += 1;
      const all = [{ id: started, exchange: startExchange(options) }, ...live.get()];
      for (const { exchange } of all.slice(MAX_RUNS)) {
        exchange.stop();
        void exchange.ended.then(({ answer }) => forget?.(answer));
      }
      live.set(all.slice(0, MAX_RUNS));
    },
    stopAll: () => {
      for (const { exchange } of live.get()) exchange.stop();
    },
  };
}
