import type { Candidate } from '../candidate.ts';
import type { Hedge } from '../configuration/configuration.ts';
import type { Reply } from '../replies/reply.ts';
import type { Taker } from '../sending/send-progress.ts';
import type { Hedger } from './hedger.ts';

/** One of two chains of attempts for the same request. The second one began because the first one was late. */
export interface Leg extends Taker {
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
  /** Fires when the caller leaves. */
  readonly signal: AbortSignal | undefined;
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
export async function sendHedged(options: HedgedOptions): Promise<Reply | null> {
  const { rule, hedger, streamed, signal, hasNext, onLate, sendInTurn, onHedge } = options;
  const running: Running[] = [];
  /** The candidate that is late; null: none was when the first leg ended. */
  const late = Promise.withResolvers<Candidate | null>();
  let timer: NodeJS.Timeout | undefined;
  let winner: Leg | null = null;

  const arm = (candidate: Candidate) => {
    clearTimeout(timer);
    const delayMs = running.length > 1 || winner ? null : hedger.delayMs(candidate, rule, streamed);
    if (delayMs !== null) timer = setTimeout(hedge, delayMs, candidate);
  };
  const hedge = (candidate: Candidate) => {
    if (winner !== null || !hasNext() || !hedger.take(candidate)) return;
    onLate(candidate);
    late.resolve(candidate);
  };
  /** Ends the request for all legs but this one. */
  const settle = async (leg: Leg | null) => {
    clearTimeout(timer);
    late.resolve(null);
    const others = running.filter((one) => one.leg !== leg);
    for (const { stop } of others) stop.abort();
    const [candidate] = await Promise.all([
      late.promise,
      Promise.allSettled(others.map(({ reply }) => reply)),
    ]);
    const name = leg === null ? 'none' : leg.isHedge ? 'second' : 'first';
    if (candidate !== null) onHedge?.({ channel: candidate.channel.name, winner: name });
  };

  const begin = (isHedge: boolean) => {
    const stop = new AbortController();
    const leg: Leg = {
      isHedge,
      overtaken: stop.signal,
      ended: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
      onBegin: isHedge ? () => undefined : arm,
      onEnd: (candidate, durationMs) => hedger.observe(candidate, streamed, durationMs),
      claim: async () => {
        if (winner === null) {
          winner = leg;
          await settle(leg);
        }
        return winner === leg;
      },
    };
    const reply = sendInTurn(leg).catch((error: unknown) => {
      if (winner === null || winner === leg) throw error;
      return null;
    });
    running.push({ leg, stop, reply });
    return reply;
  };

  try {
    const first = begin(false).finally(() => late.resolve(null));
    const second = late.promise.then((candidate) => (candidate === null || winner ? null : begin(true)));
    const answered = [first, second].map(async (reply) => (await reply) ?? new Promise<never>(() => {}));
    return await Promise.race([...answered, Promise.all([first, second]).then(() => null)]);
  } finally {
    if (winner === null) void settle(null);
  }
}
