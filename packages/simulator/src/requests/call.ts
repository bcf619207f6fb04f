import { createHash } from 'node:crypto';
import type { AnswerWish } from '../answer/compose-answer.ts';
import type { Provider } from '../provider.ts';
import { ProviderError } from '../replies/provider-error.ts';
import type { Reply } from '../replies/reply.ts';
import { type Directives, NO_DIRECTIVES, parseDirectives } from '../script/directives.ts';
import { NAMED_FAULTS, STATUS_FAULTS } from '../script/fault-table.ts';
import type { ScriptedReply } from '../script/script-queue.ts';
import type { RecordedRequest } from './recorded-request.ts';

export type Dialect = 'openai' | 'anthropic' | 'aws';
export type Handler = (call: Call) => Reply | Promise<Reply>;

/** One request, for its handler. */
export interface Call {
  readonly provider: Provider;
  readonly request: RecordedRequest;
  readonly requestId: string;
  readonly dialect: Dialect;
  /** The ids in the path. */
  readonly params: readonly string[];
  readonly scripted: ScriptedReply | undefined;
  /**
   * Applies the directives in a request's text and in a test's script, for the answer and its sender.
   * @throws ProviderError if they name an error
   */
  applyDirectives(text: string, model: string): void;
  /** The directives, once {@link applyDirectives} has run, and the text that a script replaces the answer by. */
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

const directedError = (directives: Directives, dialect: Dialect): ProviderError | null => {
  const { fault, status, retryAfterSeconds } = directives;
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  if (fault) {
    const named = NAMED_FAULTS[fault][dialect === 'openai' ? dialect : 'anthropic'];
    return new ProviderError({ ...named, headers: { ...('headers' in named && named.headers), ...headers } });
  }
  if (status !== undefined && status >= 400 && status <= 599) {
    const message = STATUS_FAULTS[status]?.message ?? `Simulated status ${status}.`;
    return new ProviderError({ status, message, headers });
  }
  return null;
};

export interface CallOptions extends Omit<Call, 'applyDirectives' | 'wish'> {
  readonly repeats: RepeatCounter;
}

export const createCall = ({ repeats, ...options }: CallOptions): Call => {
  let wish: AnswerWish = options.scripted ?? NO_DIRECTIVES;
  return {
    ...options,
    applyDirectives: (text, model) => {
      const directives = parseDirectives(text);
      const meant =
        (directives.model === undefined || directives.model === model) &&
        (directives.times === undefined || repeats.count(text) <= directives.times);
      if (meant && directives !== NO_DIRECTIVES) wish = { ...directives, ...options.scripted };
      const error = wish === NO_DIRECTIVES ? null : directedError(wish, options.dialect);
      if (error) throw error;
    },
    wish: () => wish,
  };
};
