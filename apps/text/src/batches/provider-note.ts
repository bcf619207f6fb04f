import { Identity } from '@gateway/contracts/identity';
import { z } from 'zod';

/**
 * How far a provider is with the lines of a batch. Each step is noted before what it names is begun, so that whoever goes on with it knows
 * what may have happened: `preparing`, its lines are reserved and uploaded; `creating`, its batch may be there; `created`, it is;
 * `over`, nothing of it is there any more, and the gateway does what is left.
 */
export const ProviderNote = z.strictObject({
  step: z.enum(['preparing', 'creating', 'created', 'over']),
  /** From 0: lines that a budget did not cover at first go in another batch of the provider's. */
  round: z.int().min(0),
  channel: z.string(),
  account: z.string(),
  /** What the channel said of its batches. */
  batches: z.object({
    paths: z.object({
      openai: z.object({ files: z.string(), batches: z.string() }).exactOptional(),
      anthropic: z.string().exactOptional(),
    }),
    priceFactor: z.number(),
  }),
  /** By which its lines are done and billed, however its key changes meanwhile. */
  identity: Identity,
  /** When its lines began, for their usage records. Unix milliseconds. */
  startedAtMs: z.number(),
  /** What was uploaded; null: nothing, or its batch has its lines in itself. */
  uploadId: z.string().nullable(),
  /** The provider's id of its batch. */
  batchId: z.string().nullable(),
  /** The lines in it, by their index, and those of earlier rounds. */
  sent: z.string(),
  earlier: z.string(),
  /** Whether lines were left for another round. */
  hasMore: z.boolean(),
});
export type ProviderNote = z.infer<typeof ProviderNote>;

/** A set of a batch's lines, by their index: a bit for each, as a note has it. */
export class LineSet {
  #bits: Buffer;
  #size = 0;

  constructor(text = '') {
    this.#bits = Buffer.from(text, 'base64');
    for (const byte of this.#bits) for (let rest = byte; rest > 0; rest >>= 1) this.#size += rest & 1;
  }

  get size(): number {
    return this.#size;
  }

  has(index: number): boolean {
    return (((this.#bits[index >> 3] ?? 0) >> (index & 7)) & 1) === 1;
  }

  /** False where it was there. */
  add(index: number): boolean {
    if (this.has(index)) return false;
    const at = index >> 3;
    if (at >= this.#bits.length)
      this.#bits = Buffer.concat([this.#bits, Buffer.alloc(Math.max(64, at + 1 - this.#bits.length))]);
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (index & 7));
    this.#size += 1;
    return true;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let index = 0; index < this.#bits.length * 8; index += 1) if (this.has(index)) yield index;
  }

  toString(): string {
    return this.#bits.toString('base64');
  }
}
