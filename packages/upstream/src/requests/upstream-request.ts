import type { Readable } from 'node:stream';
import type { Operation } from '../protocol.ts';
import type { MultipartPart } from './multipart-body.ts';
import type { RequestHeaders } from './request-headers.ts';

/** A body that is not in memory, opened again for every attempt. */
export interface StreamedBody {
  /** Null: sent in chunks. */
  readonly sizeBytes: number | null;
  open(): Readable;
  /** What it is made of, where it is a form. */
  readonly parts?: readonly MultipartPart[];
}

/** The request to one channel. */
export interface UpstreamRequest {
  readonly operation: Operation;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** After the operation's path, for an object at the provider: `/resp_1/cancel`, already encoded. */
  readonly subpath?: string;
  /** Whether it asks for a stream, where it asks for something else than its caller. */
  readonly streamed?: boolean;
  /** Without `?`. */
  readonly query?: string;
  /** From Node; those on the protocol's list are passed on. */
  readonly headers: RequestHeaders;
  /** The caller uses another protocol: an error is not relayed unchanged, and its path is one in this request. */
  readonly translated?: true;
  /** The caller wants an error rather than have a member left out. */
  readonly strict?: boolean;
  readonly body?: Buffer | string | StreamedBody;
}
