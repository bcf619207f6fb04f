import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from './catalog.ts';
import type { FailureKind } from './failures.ts';

/** One channel that was asked, and how that went. */
export interface Attempt {
  readonly channel: string;
  /** `ok`: it gave the reply. `busy`: it was passed over because it already had all the requests it may have. */
  readonly outcome: 'ok' | 'busy' | FailureKind;
  /** The provider's HTTP status, if it answered. */
  readonly status: number | null;
  /** Until its first output, or its failure. */
  readonly durationMs: number;
  /** Why it failed, for the log; free of secrets. */
  readonly detail: string | null;
}

/** Where a reply's body goes. Exactly one of `onEnd` and `onError` is called, last. */
export interface ReplySink {
  /** False asks the provider to pause; `reply.resume()` goes on. */
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
  /** Every channel asked for this reply, this one last. */
  readonly attempts: readonly Attempt[];
  /** Members of the request that its provider has no place for. */
  readonly dropped: readonly string[];
  /** From the beginning of the attempt that succeeded. */
  readonly timings: { readonly headersMs: number; readonly firstOutputMs: number };
  /** Whether the whole body is already here, so that its length is known before the first byte is passed on. */
  readonly ended: boolean;
  /** The caller has left and the rest is read only to learn how it ends (the channel's `onDisconnect: drain`). */
  readonly draining: boolean;
  /** The body, pushed, with the least work: begins at once, in this call, with what is already here. */
  consume(sink: ReplySink): void;
  /** Goes on after a chunk that was answered with false. */
  resume(): void;
  /** The body, pulled. Throws a `GatewayError` where it breaks; leaving the loop early cancels the reply. */
  readonly body: AsyncIterable<Buffer>;
  /** The whole body. Throws `upstream_failed` beyond this size. */
  bytes(maxBytes: number): Promise<Buffer>;
  /** Breaks the reply off. */
  cancel(): void;
}
