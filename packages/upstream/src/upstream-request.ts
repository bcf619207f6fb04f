import type { Readable } from 'node:stream';
import type { MultipartPart } from './multipart-body.ts';
import type { Operation } from './protocol.ts';
import type { RequestHeaders } from './request-headers.ts';

/** A body that is not in memory, opened anew for every attempt. */
export interface StreamedBody {
  /** Null: sent in chunks. */
  readonly sizeBytes: number | null;
  open(): Readable;
  /** What it is made of, where it is a form. */
  readonly parts?: readonly MultipartPart[];
}

/** What is asked of one channel. */
export interface UpstreamRequest {
  readonly operation: Operation;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Behind the operation's path, for an object of the provider's: `/resp_1/cancel`, already encoded. */
  readonly subpath?: string;
  /** Without `?`. */
  readonly query?: string;
  /** As Node gave them; those go on that the protocol's list names. */
  readonly headers: RequestHeaders;
  /** The caller speaks another protocol: an error is not relayed as it is, and names the place in this request. */
  readonly translated?: true;
  /** The caller wants an error rather than have a member left out. */
  readonly strict?: boolean;
  readonly body?: Buffer | string | StreamedBody;
}
