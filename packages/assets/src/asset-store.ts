import type { Readable } from 'node:stream';

/** What is known of stored bytes without reading them. */
export interface AssetInfo {
  readonly id: string;
  /** By the id's ending. */
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Unix milliseconds; an S3 store knows whole seconds only. */
  readonly storedAtMs: number;
  /** A strong validator, with its quotes; another one after every `put`. */
  readonly etag: string;
}

/** Stored bytes, opened for reading. Exactly one of `stream`, `bytes` and `close` is to be called. */
export interface Asset extends AssetInfo {
  /** The bytes; closes the asset when they have been read, or when the stream is destroyed. */
  stream(): Readable;
  /** All the bytes at once. */
  bytes(): Promise<Buffer>;
  close(): Promise<void>;
}

/** From which byte to which, both included. Must lie within the asset. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type AssetSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface PutOptions {
  /** Whether it must survive that the machine loses its power, for which a folder waits for the disk. Default: true. */
  readonly isDurable?: boolean;
}

export interface UrlOptions {
  readonly expiresInSeconds: number;
  /** What the store answers as `content-disposition`. */
  readonly contentDisposition: string;
}

/**
 * Named bytes, kept until somebody deletes them. Ids are the program's own, never a caller's: letters, digits, `-` and `_`,
 * and at most one ending. All methods but `put` throw `service_unavailable` while a store beyond the network cannot be reached.
 */
export interface AssetStore {
  /**
   * Stores the whole or nothing, without holding it in memory. The same id again replaces what was there.
   *
   * @throws {GatewayError} `storage_full`, `service_unavailable`; whatever the source throws
   */
  put(id: string, source: AssetSource, options?: PutOptions): Promise<{ id: string; sizeBytes: number }>;
  /**
   * Stores a few bytes unless something has this id already. Resolves to whether it did. Of several writers at the same time one
   * succeeds, but with an S3 store that does not know conditional writes.
   *
   * @throws {GatewayError} as `put`
   */
  putNew(id: string, bytes: Uint8Array): Promise<boolean>;
  /** Undefined for what is not there (any more) and for what is no id. */
  head(id: string): Promise<AssetInfo | undefined>;
  /** Undefined for what is not there (any more) and for what is no id. `sizeBytes` is that of the whole, also with a range. */
  open(id: string, range?: ByteRange): Promise<Asset | undefined>;
  /** Deletes what is there. */
  delete(...ids: string[]): Promise<void>;
  /** What is stored, in no particular order. Whatever is stored or deleted meanwhile may be missing. */
  list(options?: { prefix?: string }): AsyncIterable<AssetInfo>;
  /**
   * Deletes what was stored before this time, in Unix milliseconds, with what writers that died have left. Resolves to how many
   * assets that were.
   */
  sweep(olderThanMs: number, options?: { prefix?: string }): Promise<number>;
  /** A URL at the store itself, which needs no key of ours. Undefined where the store has none to give. */
  urlOf(id: string, options: UrlOptions): Promise<string | undefined>;
}

/** Stores that lie in one place and do not see each other's assets. */
export interface AssetStores {
  /** @param name of the store: lower-case letters */
  open(name: string): Promise<AssetStore>;
  /** The folder in which that store keeps its assets as files under their ids; undefined where it does not. */
  folderOf(name: string): string | undefined;
  close(): void;
}
