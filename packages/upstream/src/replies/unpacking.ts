import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** A compressed reply that cannot be unpacked. */
export class BrokenCompressionError extends Error {
  override readonly name = 'BrokenCompressionError';
  readonly code = 'BROKEN_COMPRESSION';
  constructor(cause: Error) {
    super(`the compressed reply cannot be unpacked: ${cause.message}`, { cause });
  }
}

interface OpenOptions {
  /** A reply that ends without the end of its compression is complete: its own protocol marks its end. */
  readonly mayBeCut: boolean;
}

/** Makes the stream for bytes that begin like this; null: they are not compressed, whatever the header says. */
export type Coding = (start: Buffer) => ((options: OpenOptions) => Transform) | null;

/** How many bytes decide what they are. */
const SNIFFED_BYTES = 12;
/** The most codings that are applied to one reply. */
const MAX_CODINGS = 5;
const CHUNK_BYTES = 65_536;

const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const begins = (start: Buffer, magic: Buffer): boolean => start.subarray(0, magic.length).equals(magic);

/** Whether bytes begin as gzip does. */
export const isGzip = (start: Buffer): boolean => begins(start, GZIP);

/** RFC 1950: the method, and a check of the first two bytes. */
const isZlib = (start: Buffer): boolean =>
  start.length > 1 && (start.readUInt8(0) & 0x0f) === 8 && start.readUInt16BE(0) % 31 === 0;

/** JSON, events, a page, or a known file. For the codings that have no mark of their own. */
const PLAIN =
  /^(?:\s*[{"<]|(?:data|event|id|retry)?:|\x89PNG|\xff\xd8\xff|GIF8|RIFF|ID3|OggS|fLaC|\xff[\xf0-\xfb]|[\s\S]{4}ftyp)/;
const isPlain = (start: Buffer): boolean => PLAIN.test(start.toString('latin1'));

const zlibOptions = ({ mayBeCut }: OpenOptions) => ({
  chunkSize: CHUNK_BYTES,
  ...(mayBeCut && { finishFlush: constants.Z_SYNC_FLUSH }),
});

export const gzip: Coding = (start) =>
  isGzip(start) ? (options) => createGunzip(zlibOptions(options)) : null;

const deflate: Coding = (start) => {
  if (isZlib(start)) return (options) => createInflate(zlibOptions(options));
  return isPlain(start) ? null : (options) => createInflateRaw(zlibOptions(options));
};

const brotli: Coding = (start) =>
  isPlain(start)
    ? null
    : ({ mayBeCut }) =>
        createBrotliDecompress({
          chunkSize: CHUNK_BYTES,
          ...(mayBeCut && { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
        });

const zstd: Coding = (start) =>
  begins(start, ZSTD)
    ? ({ mayBeCut }) =>
        createZstdDecompress({
          chunkSize: CHUNK_BYTES,
          ...(mayBeCut && { finishFlush: constants.ZSTD_e_flush }),
        })
    : null;

/** By their names in `content-encoding`. Other names, such as `identity` or a charset, stand for no compression. */
const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', deflate],
  ['br', brotli],
  ['zstd', zstd],
]);

/** The codings that a header declares, in the order in which they were applied. */
export const codingsOf = (header: string | readonly string[]): Coding[] =>
  String(header)
    .toLowerCase()
    .split(',')
    .map((name) => CODINGS.get(name.trim()))
    .filter((coding) => coding !== undefined)
    .slice(-MAX_CODINGS);

interface Source {
  pause(): void;
  resume(): void;
}

interface Sink {
  push(chunk: Buffer): void;
  end(): void;
  fail(error: Error): void;
}

interface UnpackingOptions extends OpenOptions {
  /** As `codingsOf` returns them; at least one. */
  readonly codings: readonly Coding[];
  readonly source: Source;
  readonly sink: Sink;
}

/** Unpacks one reply. What can be unpacked goes on at once, so that no event waits for the next one. */
export class Unpacking implements Source {
  /** The coding that was applied first comes first. */
  readonly #layers: readonly Layer[];
  readonly #outermost: Sink;

  constructor({ codings, source, sink, mayBeCut }: UnpackingOptions) {
    let inner = sink;
    this.#layers = codings.map((coding) => {
      const layer = new Layer({ coding, sink: inner, mayBeCut });
      inner = layer;
      return layer;
    });
    this.#layers.forEach((layer, index) => {
      layer.source = this.#layers[index + 1] ?? source;
    });
    this.#outermost = inner;
  }

  push(chunk: Buffer): void {
    this.#outermost.push(chunk);
  }

  end(): void {
    this.#outermost.end();
  }

  pause(): void {
    this.#layers[0]?.pause();
  }

  resume(): void {
    this.#layers[0]?.resume();
  }

  destroy(): void {
    for (const layer of this.#layers) layer.destroy();
  }
}

/** One coding: what arrives is unpacked, or passed on where it is not compressed. */
class Layer implements Source, Sink {
  readonly #options: OpenOptions & { readonly coding: Coding; readonly sink: Sink };
  source: Source = { pause: () => undefined, resume: () => undefined };
  #stream: Transform | null = null;
  /** What has arrived, until there is enough to decide by; null once it is decided. */
  #start: Buffer | null = Buffer.alloc(0);
  #isDestroyed = false;

  constructor(options: OpenOptions & { readonly coding: Coding; readonly sink: Sink }) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    if (this.#start === null) {
      this.#give(chunk);
      return;
    }
    this.#start = Buffer.concat([this.#start, chunk]);
    if (this.#start.length >= SNIFFED_BYTES) this.#decide(this.#start);
  }

  end(): void {
    if (this.#start !== null) this.#decide(this.#start);
    if (this.#stream === null) this.#options.sink.end();
    else this.#stream.end();
  }

  fail(error: Error): void {
    this.#options.sink.fail(error);
  }

  pause(): void {
    (this.#stream ?? this.source).pause();
  }

  resume(): void {
    (this.#stream ?? this.source).resume();
  }

  destroy(): void {
    this.#isDestroyed = true;
    this.#stream?.destroy();
  }

  #decide(start: Buffer): void {
    this.#start = null;
    const { coding, sink, mayBeCut } = this.#options;
    const open = start.length === 0 ? null : coding(start);
    if (open !== null) {
      const stream = open({ mayBeCut });
      this.#stream = stream;
      stream.on('data', (chunk: Buffer) => sink.push(chunk));
      stream.on('end', () => sink.end());
      stream.on('drain', () => this.source.resume());
      stream.on('error', (error) => {
        if (!this.#isDestroyed) sink.fail(new BrokenCompressionError(error));
      });
    }
    this.#give(start);
  }

  #give(chunk: Buffer): void {
    if (this.#isDestroyed || chunk.length === 0) return;
    if (this.#stream === null) this.#options.sink.push(chunk);
    else if (!this.#stream.write(chunk)) this.source.pause();
  }
}
