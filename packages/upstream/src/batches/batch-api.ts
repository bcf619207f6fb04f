import type { BatchCounts } from '@gateway/contracts/jobs';

/** Whose form a provider's batches have. */
export type BatchForm = 'openai' | 'anthropic';

/** What is uploaded: lines in a file on disk, written as `BatchApi.frame` and `BatchApi.line` have it. */
export interface BatchFile {
  /** By which it is found again at the provider. */
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
}

export interface BatchToCreate {
  /** By which it is found again at the provider. */
  readonly name: string;
  /** The path that its lines name. */
  readonly url: string;
  /** What `upload` resolved to; null: the file itself is sent. */
  readonly uploadId: string | null;
  readonly file: BatchFile | null;
  /** The headers of the caller's request; those of its protocol are passed on. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface BatchToFind extends Pick<BatchToCreate, 'name'> {
  readonly lines: number;
  /** It was not created before this time, in Unix milliseconds. */
  readonly sinceMs: number;
  /** Whether the id of a line is one of this batch's. */
  readonly isOurs: (lineId: string) => boolean;
}

/** `undecided`: it may be one that is at work, of which nothing more can be learned before it has ended. */
export type FoundBatch = { readonly id: string } | 'none' | 'undecided';

/** How far a provider's batch is. */
export interface BatchState {
  readonly id: string;
  readonly isOver: boolean;
  /** Whether a line that is over has a result in any case, and one without result has been lost. */
  readonly tellsAll: boolean;
  /** Absent: it tells when it is over. */
  readonly counts?: BatchCounts;
  /** Where its results lie. */
  readonly results: readonly string[];
  /** What is deleted when they have been read. */
  readonly leftovers: readonly string[];
  /** Why it has failed as a whole. */
  readonly problem: string | null;
}

/** What a provider has made of a line, its body as it was sent. */
export type BatchResult =
  | { readonly id: string; readonly type: 'answered'; readonly status: number; readonly body: Buffer }
  /** Not run, and so not billed. */
  | { readonly id: string; readonly type: 'expired' | 'canceled' };

/** The bytes of a member of a JSON object. @throws where there is none */
export type ReadMember = (json: Buffer, name: string) => Buffer;

/** The batches of one account at a provider. Everything but `results` throws `BatchCallFailed`. */
export interface BatchApi {
  readonly form: BatchForm;
  /** Whether all lines of a batch have to name the same model. */
  readonly needsOneModel: boolean;
  readonly maxLines: number;
  readonly maxBytes: number;
  /** Texts to embed in all lines of a batch together. */
  readonly maxInputs: number;
  /** What stands before the first line, between two, and after the last one. */
  readonly frame: { readonly head: string; readonly between: string; readonly tail: string };
  line(line: { readonly id: string; readonly url: string; readonly body: string }): string;
  /** Resolves to null where a batch is created with its lines. */
  upload(file: BatchFile, signal: AbortSignal): Promise<string | null>;
  /** Deletes what was uploaded under this name and is in no batch. */
  dropUpload(name: string, signal: AbortSignal): Promise<void>;
  /** Resolves to its id. */
  create(batch: BatchToCreate, signal: AbortSignal): Promise<string>;
  /** Looks for one that may have been created. */
  find(batch: BatchToFind, signal: AbortSignal): Promise<FoundBatch>;
  look(id: string, signal: AbortSignal): Promise<BatchState>;
  cancel(id: string, signal: AbortSignal): Promise<void>;
  /** The bytes of one of `BatchState.results`. */
  results(place: string, signal: AbortSignal): AsyncIterable<Buffer>;
  /** @throws for what is no line of results */
  readResult(line: Buffer, readMember: ReadMember): BatchResult;
  remove(leftover: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Why a provider did not do what its batches were asked for. */
export class BatchCallFailed extends Error {
  override readonly name = 'BatchCallFailed';
  /** Null: no answer came. */
  readonly status: number | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    options: { status: number | null; retryAfterSeconds?: number | null; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }

  /** Whether the provider has certainly not done it. */
  get isRefusal(): boolean {
    return this.status !== null && this.status >= 400 && this.status < 500 && this.status !== 408;
  }

  /** Whether what it was asked for is not there. */
  get isGone(): boolean {
    return this.status === 404 || this.status === 410;
  }
}
