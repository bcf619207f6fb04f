import type { Members } from './library.ts';
import type { MediaRequest } from './media-request.ts';

/** One request on its way through a library. */
export interface LibraryCall {
  readonly members: Members;
  readonly files: MediaRequest['files'];
  /** The channel's bound for the whole. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What it came to, as a provider of the protocol would have answered. */
export interface LibraryAnswer {
  readonly contentType: string;
  readonly body: Buffer;
}
