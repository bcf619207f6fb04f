const BLOCK_BYTES = 32 * 1024;

/** More steps than these are taken for a file that was made to be read slowly. */
export class TooManySteps extends Error {}

/** An open file. */
export interface OpenFile {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly buffer: Buffer; readonly bytesRead: number }>;
}

/**
 * Reads small pieces of a file at rising positions. The file is read in blocks, once, however many pieces are taken, and the
 * number of pieces is bounded: a file of a few bytes in each of its parts costs no more than any other of its size.
 */
export class FileBlocks {
  readonly #file: OpenFile;
  readonly #maxSteps: number;
  #steps = 0;
  #block: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: OpenFile, maxSteps: number) {
    this.#file = file;
    this.#maxSteps = maxSteps;
  }

  /** So many bytes from there on; undefined where the file has fewer. @throws {TooManySteps} */
  async bytesAt(position: number, length: number): Promise<Buffer | undefined> {
    const bytes = await this.upTo(position, length);
    return bytes.length === length ? bytes : undefined;
  }

  /** So many bytes from there on, or as many as the file has. @throws {TooManySteps} */
  async upTo(position: number, length: number): Promise<Buffer> {
    this.#steps += 1;
    if (this.#steps > this.#maxSteps) throw new TooManySteps(`more than ${this.#maxSteps} steps`);
    if (!Number.isSafeInteger(position) || position < 0) return Buffer.alloc(0);
    const from = position - this.#start;
    if (from >= 0 && from + length <= this.#block.length) return this.#block.subarray(from, from + length);
    // A new block each time: pieces of the last one may still be in use.
    const { buffer, bytesRead } = await this.#file.read(
      Buffer.allocUnsafe(Math.max(BLOCK_BYTES, length)),
      0,
      Math.max(BLOCK_BYTES, length),
      position,
    );
    this.#block = buffer.subarray(0, bytesRead);
    this.#start = position;
    return this.#block.subarray(0, length);
  }
}
