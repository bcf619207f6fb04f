import type { Candidate } from '../candidate.ts';
import type { Hedge } from '../configuration/configuration.ts';
import type { Reply } from '../replies/reply.ts';
import type { Hedger } from './hedger.ts';

/** One of two chains of attempts for the same request. */
export interface Leg {
  /** It began because the other one was late. */
  readonly isHedge: boolean;
  /** Fires when the other one has answered. */
  readonly overtaken: AbortSignal;
  onBegin(candidate: Candidate): void;
  /** The first output has come, or the attempt was overtaken. */
  onEnd(candidate: Candidate, durationMs: number): void;
  /** Whether this leg is the first to answer. Then the other one has ended when this resolves. */
  claim(): Promise<boolean>;
}

export interface HedgeResult {
  /** The channel that was late. */
  readonly channel: string;
  readonly winner: 'first' | 'second' | 'none';
}

interface HedgedOptions {
  readonly rule: Hedge;
  readonly hedger: Hedger;
  readonly streamed: boolean;
  /** Whether another candidate is left. */
  readonly hasNext: () => boolean;
  /** Called before another candidate is tried beside this one. */
  readonly onLate: (candidate: Candidate) => void;
  /** Tries candidates in turn; null: none of them has answered. */
  readonly sendInTurn: (leg: Leg) => Promise<Reply | null>;
  readonly onHedge: ((result: HedgeResult) => void) | undefined;
}

interface Running {
  readonly leg: Leg;
  readonly stop: AbortController;
  readonly reply: Promise<Reply | null>;
}

/**
 * Sends to one candidate and, when its first output is later than nearly all before it were, to the next one beside it.
 * Whichever answers first is the reply; the other one is aborted. An error that no other candidate can avoid ends both.
 */
export function sendHedged(options: HedgedOptions): Promise<Reply | null> {
  const { rule, hedger, streamed, hasNext, onLate, sendInTurn, onHedge } = options;
  const running: Running[] = [];
  let timer: NodeJS.Timeout | undefined;
  let winner: Leg | null = null;
  let late: Candidate | null = null;

  return new Promise((resolve, reject) => {
    let open = 0;

    const othersOf = (leg: Leg) => running.filter((one) => one.leg !== leg);
    const end = (leg: Leg | null) => {
      clearTimeout(timer);
      timer = undefined;
      if (late === null) return;
      const name = leg === null ? 'none' : leg.isHedge ? 'second' : 'first';
      onHedge?.({ channel: late.channel.name, winner: name });
    };

    const arm = (candidate: Candidate) => {
      clearTimeout(timer);
      const delayMs = late === null ? hedger.delayMs(candidate, rule, streamed) : null;
      if (delayMs !== null) timer = setTimeout(hedge, delayMs, candidate);
    };
    const hedge = (candidate: Candidate) => {
      if (winner !== null || !hasNext() || !hedger.take(candidate)) return;
      late = candidate;
      onLate(candidate);
      begin(true);
    };

    const begin = (isHedge: boolean) => {
      const stop = new AbortController();
      const leg: Leg = {
        isHedge,
        overtaken: stop.signal,
        onBegin: isHedge ? () => undefined : arm,
        onEnd: (candidate, durationMs) => hedger.observe(candidate, streamed, durationMs),
        claim: async () => {
          if (winner !== null) return false;
          winner = leg;
          const others = othersOf(leg);
          for (const other of others) other.stop.abort();
          await Promise.allSettled(others.map(({ reply }) => reply));
          return true;
        },
      };
      open += 1;
      const reply = sendInTurn(leg);
      running.push({ leg, stop, reply });
      reply.then(
        (answer) => {
          open -= 1;
          if (answer !== null) {
            end(leg);
            resolve(answer);
          } else if (open === 0 && winner === null) {
            end(null);
            resolve(null);
          }
        },
        (error: unknown) => {
          open -= 1;
          if (winner !== null) return;
          winner = leg;
          for (const other of othersOf(leg)) other.stop.abort();
          end(null);
          reject(error);
        },
      );
    };
    begin(false);
  });
}
