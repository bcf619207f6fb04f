import { SPEECH_CONTENT_TYPES, type SpeechFormat } from '@gateway/contracts/openai/speech';
import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { audioTypeOf, frameTypeOf } from './audio-signature.ts';

interface Requested {
  readonly format: SpeechFormat;
  /** As the provider names its bytes. */
  readonly providerType: string | undefined;
}

/**
 * Audio that is labelled by its first bytes, which are held back for as long as they show nothing: a few of them, once. What
 * shows nothing, as raw samples do, is what the provider says, else what was requested.
 */
export class LabelledAudio implements RelayedStream {
  readonly #inner: RelayedStream;
  readonly #requested: Requested;
  #held: Buffer | null = Buffer.alloc(0);
  #contentType: string;

  constructor(inner: RelayedStream, requested: Requested) {
    this.#inner = inner;
    this.#requested = requested;
    this.#contentType = SPEECH_CONTENT_TYPES[requested.format];
  }

  /** Known when the first bytes have come out. */
  get contentType(): string {
    return this.#contentType;
  }

  push(chunk: Buffer): Output | Promise<Output> {
    const output = this.#inner.push(chunk);
    return this.#held === null || output instanceof Promise ? output : this.#label(this.#held, output);
  }

  end(): Output | Promise<Output> {
    const output = this.#inner.end();
    if (this.#held === null || output instanceof Promise) return output;
    const last = this.#label(this.#held, output);
    if (last !== null || this.#held === null) return last;
    const rest = this.#held;
    return rest.length === 0 ? null : this.#release(rest, null);
  }

  fail(error: Parameters<RelayedStream['fail']>[0]): ReturnType<RelayedStream['fail']> {
    return this.#inner.fail(error);
  }

  get failure(): RelayedStream['failure'] {
    return this.#inner.failure;
  }

  get isWhole(): boolean {
    return this.#inner.isWhole;
  }

  get rest(): RelayedStream['rest'] {
    return this.#inner.rest;
  }

  get id(): string | null {
    return this.#inner.id;
  }

  keepAlive(): string | null {
    return this.#inner.keepAlive();
  }

  #label(held: Buffer, output: Output): Output {
    if (!Buffer.isBuffer(output)) return output;
    const bytes = Buffer.concat([held, output]);
    const found = audioTypeOf(bytes);
    if (found !== 'undecided') return this.#release(bytes, found);
    this.#held = bytes;
    return null;
  }

  #release(bytes: Buffer, found: string | null): Buffer {
    this.#held = null;
    this.#contentType = found ?? unsignedType(bytes, this.#requested);
    return bytes;
  }
}

const AUDIO = /^audio\/[\w.+-]+/i;

function unsignedType(bytes: Buffer, { format, providerType = '' }: Requested): string {
  const named = AUDIO.exec(providerType)?.[0].toLowerCase();
  const framed = frameTypeOf(bytes);
  // Raw samples look like a frame now and then: of them the provider has to say so too.
  if (framed !== null && (format !== 'pcm' || framed === named)) return framed;
  const isRaw = format === 'pcm' && named !== undefined && FILE_TYPES.has(named);
  return named === undefined || isRaw ? SPEECH_CONTENT_TYPES[format] : providerType;
}

/** Types whose bytes would have shown them. */
const FILE_TYPES: ReadonlySet<string> = new Set(
  Object.values(SPEECH_CONTENT_TYPES).filter((type) => type !== SPEECH_CONTENT_TYPES.pcm),
);
