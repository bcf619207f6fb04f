import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { Exchange } from '../sending/exchange.ts';
import type { Attempt, Reply, ReplySink } from './reply.ts';

/** The consumer's view of an accepted exchange. */
export class UpstreamReply implements Reply {
  readonly #exchange: Exchange;
  readonly candidate: Candidate;
  readonly attempts: readonly Attempt[];

  readonly dropped: readonly string[];

  constructor(
    exchange: Exchange,
    { candidate, attempts, dropped }: Pick<Reply, 'candidate' | 'attempts' | 'dropped'>,
  ) {
    this.#exchange = exchange;
    this.candidate = candidate;
    this.attempts = attempts;
    this.dropped = dropped;
  }

  get status(): number {
    return this.#exchange.status;
  }

  get headers(): IncomingHttpHeaders {
    return this.#exchange.headers;
  }

  get timings(): Reply['timings'] {
    const { startedAt, headersAt, firstOutputAt } = this.#exchange;
    return { headersMs: headersAt - startedAt, firstOutputMs: firstOutputAt - startedAt };
  }

  get ended(): boolean {
    return this.#exchange.body.ended;
  }

  get draining(): boolean {
    return this.#exchange.draining;
  }

  get body(): AsyncIterable<Buffer> {
    return iterateReply(this);
  }

  consume(sink: ReplySink): void {
    this.#exchange.body.consume(sink);
  }

  resume(): void {
    this.#exchange.body.resume();
  }

  letGo(): void {
    this.#exchange.letGo();
  }

  cancel(): void {
    this.#exchange.cancel();
  }

  unreadable(detail: string): void {
    this.#exchange.unreadable(detail);
  }

  bytes(maxBytes: number): Promise<Buffer> {
    return wholeReply(this, maxBytes);
  }
}

/** See `Reply.bytes`. */
export function wholeReply(reply: Pick<Reply, 'consume' | 'cancel'>, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    reply.consume({
      onChunk: (chunk) => {
        chunks.push(chunk);
        sizeBytes += chunk.length;
        if (sizeBytes <= maxBytes) return true;
        const message = 'The upstream sent more than this gateway takes.';
        reject(new GatewayError('upstream_failed', { message, source: 'upstream', retry: false }));
        reply.cancel();
        return false;
      },
      onEnd: () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
      onError: reject,
    });
  });
}

/** Pulls a reply's body chunk by chunk; the connection is paused while no chunk is pulled. */
export async function* iterateReply(
  reply: Pick<Reply, 'consume' | 'resume' | 'cancel'>,
): AsyncGenerator<Buffer, void, undefined> {
  const waiting: Buffer[] = [];
  let state: { readonly done: boolean; readonly error?: unknown } = { done: false };
  let wake = (): void => undefined;
  reply.consume({
    onChunk: (chunk) => {
      waiting.push(chunk);
      wake();
      return false;
    },
    onEnd: () => {
      state = { done: true };
      wake();
    },
    onError: (error) => {
      state = { done: true, error };
      wake();
    },
  });
  try {
    while (true) {
      const chunk = waiting.shift();
      if (chunk !== undefined) yield chunk;
      else if (state.done) break;
      else {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        reply.resume();
        if (waiting.length === 0 && !state.done) await woken;
      }
    }
    if (state.error !== undefined) throw state.error;
  } finally {
    if (!state.done) reply.cancel();
  }
}
