import { createHash } from 'node:crypto';
import type { AnswerWish } from './answer/compose-answer.ts';
import { type Directives, NO_DIRECTIVES, parseDirectives } from './directives.ts';
import { NAMED_FAULTS, STATUS_FAULTS } from './fault-table.ts';
import type { Provider } from './provider.ts';
import { ProviderError } from './provider-error.ts';
import type { RecordedRequest } from './recorded-request.ts';
import type { Reply } from './reply.ts';
import type { ScriptedReply } from './script-queue.ts';

export type Dialect = 'openai' | 'anthropic';
export type Handler = (call: Call) => Reply | Promise<Reply>;

/** One request on its way through a handler. */
export interface Call {
  readonly provider: Provider;
  readonly request: RecordedRequest;
  readonly requestId: string;
  readonly dialect: Dialect;
  /** The ids in the path. */
  readonly params: readonly string[];
  readonly scripted: ScriptedReply | undefined;
  /**
   * Reads what a request's text and a test's script ask for, and keeps it for the sender.
   * @throws ProviderError where they ask for an error
   */
  ask(text: string, model: string): void;
  /** What was asked for, once {@link ask} has run, and the text that a script puts in the answer's place. */
  wish(): AnswerWish;
}

const MAX_COUNTED_DIRECTIVES = 10_000;

/** Counts identical requests, for `times=n`. */
export class RepeatCounter {
  readonly #counts = new Map<string, number>();

  count(text: string): number {
    const key = createHash('sha256').update(text).digest('base64');
    const count = (this.#counts.get(key) ?? 0) + 1;
    if (this.#counts.size >= MAX_COUNTED_DIRECTIVES) this.#counts.clear();
    this.#counts.set(key, count);
    return count;
  }

  clear(): void {
    this.#counts.clear();
  }
}

const askedError = (directives: Directives, dialect: Dialect): ProviderError | null => {
  const { fault, status, retryAfterSeconds } = directives;
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  if (fault) {
    const named = NAMED_FAULTS[fault][dialect];
    return new ProviderError({ ...named, headers: { ...('headers' in named && named.headers), ...headers } });
  }
  if (status !== undefined && status >= 400 && status <= 599) {
    const message = STATUS_FAULTS[status]?.message ?? `Simulated status ${status}.`;
    return new ProviderError({ status, message, headers });
  }
  return null;
};

export interface CallOptions extends Omit<Call, 'ask' | 'wish'> {
  readonly repeats: RepeatCounter;
}

export const createCall = ({ repeats, ...options }: CallOptions): Call => {
  let wish: AnswerWish = options.scripted ?? NO_DIRECTIVES;
  return {
    ...options,
    ask: (text, model) => {
      const asked = parseDirectives(text);
      const meant =
        (asked.model === undefined || asked.model === model) &&
        (asked.times === undefined || repeats.count(text) <= asked.times);
      if (meant && asked !== NO_DIRECTIVES) wish = { ...asked, ...options.scripted };
      const error = wish === NO_DIRECTIVES ? null : askedError(wish, options.dialect);
      if (error) throw error;
    },
    wish: () => wish,
  };
};
