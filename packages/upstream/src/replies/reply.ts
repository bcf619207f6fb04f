import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { Route } from '../configuration/configuration.ts';
import type { FailureKind } from '../failures/failure-rules.ts';

/** One attempt, and how it went. */
export interface Attempt {
  readonly channel: string;
  readonly route: Route;
  /** The name of the channel's account. */
  readonly account: string;
  /** `ok`: it gave the reply. `busy`: it was skipped because all its slots were taken. */
  readonly outcome: 'ok' | 'busy' | FailureKind;
  /** It began because another attempt was late. */
  readonly isHedge: boolean;
  /** The provider's HTTP status, if it answered. */
  readonly status: number | null;
  /** How long it took until its first output, or its failure. */
  readonly durationMs: number;
  /** How long it waited for a free slot before it began. */
  readonly waitedMs: number;
  /** Why it failed, for the log; free of secrets. */
  readonly detail: string | null;
}

/** The consumer of a reply's body. Exactly one of `onEnd` and `onError` is called, last. */
export interface ReplySink {
  /** False pauses the provider; `reply.resume()` resumes it. */
  onChunk(chunk: Buffer): boolean;
  onEnd(): void;
  onError(error: GatewayError): void;
}

/** A provider's reply whose first output has come. Its body must be consumed, in one of three ways, or cancelled. */
export interface Reply {
  readonly candidate: Candidate;
  readonly status: number;
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders;
  /** Every attempt for this reply, the successful one last. */
  readonly attempts: readonly Attempt[];
  /** Members of the request that its provider does not have. */
  readonly dropped: readonly string[];
  /** From the beginning of the attempt that succeeded. */
  readonly timings: { readonly headersMs: number; readonly firstOutputMs: number };
  /** Whether the whole body has already arrived, so that its length is known before the first byte is passed on. */
  readonly ended: boolean;
  /** The caller has left, and the rest is read only for its end and usage (the channel's `onDisconnect: drain`). */
  readonly draining: boolean;
  /** The body, pushed, with the least work: begins in this call, with the bytes that have arrived. */
  consume(sink: ReplySink): void;
  /** Continues after a chunk for which the sink returned false. */
  resume(): void;
  /** The body, pulled. Throws a `GatewayError` if it breaks; leaving the loop early cancels the reply. */
  readonly body: AsyncIterable<Buffer>;
  /** The whole body. Throws `upstream_failed` beyond this size. */
  bytes(maxBytes: number): Promise<Buffer>;
  /** Call it when what has arrived is the whole answer: the rest is read off, and cut where it does not end soon. */
  letGo(): void;
  /** Aborts the reply. */
  cancel(): void;
  /** Call it when what has arrived is no answer. It aborts the rest, and counts as a failure of its channel. */
  unreadable(detail: string): void;
}

/** What a provider sent as a success turned out to be no answer when it was read. It counts as a failure of its channel. */
export class UnreadableReply extends GatewayError {
  constructor(message: string, more: Pick<GatewayErrorOptions, 'retry' | 'cause'> = {}) {
    super('upstream_failed', { message, source: 'upstream', ...more });
  }
}

/** Calls a function that reads a reply. @throws what it throws; an `UnreadableReply` is counted first */
export async function readCounted<Result>(reply: Reply, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableReply) reply.unreadable(error.message);
    throw error;
  }
}
