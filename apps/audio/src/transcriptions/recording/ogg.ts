import { lasting, type SoundReader } from './audio-source.ts';
import { streamInfoIn } from './flac.ts';

/** Of a page's head: where its members are (RFC 3533, 6), and how long it is with and without its table. */
const [FLAGS, SAMPLE, SERIAL, SEGMENTS] = [5, 6, 14, 26] as const;
const BEGINS = 2;
const HEAD_BYTES = 27;
const MAX_HEAD_BYTES = HEAD_BYTES + 255;
/** Read at once. */
const PIECE_BYTES = 32 * 1024;
const MAX_STREAMS = 100;
const FIRST_PACKET_BYTES = 64;
/** What a packet lacks reads as zeros. */
const SPACE = Buffer.alloc(FIRST_PACKET_BYTES);
const OPUS_RATE = 48_000;
/** A page holds less. One that goes further is the first of what was captured from a stream on its way (RFC 7845, 4.3). */
const MAX_PAGE_SECONDS = 60;
const MAX_SAMPLE_RATE = 1_000_000;
const PAGE = Buffer.from('OggS');
const PAGE_NUMBER = PAGE.readUInt32BE();

/** How a stream of sound counts its positions. */
interface Clock {
  readonly rate: number;
  /** Samples before the sound begins. */
  readonly skipped: number;
}

const CODECS: readonly (readonly [start: string, (packet: Buffer) => Clock | undefined])[] = [
  ['OpusHead', (packet) => ({ rate: OPUS_RATE, skipped: packet.readUInt16LE(10) })],
  ['\x01vorbis', (packet) => ({ rate: packet.readUInt32LE(12), skipped: 0 })],
  ['Speex   ', (packet) => ({ rate: packet.readUInt32LE(36), skipped: 0 })],
  [
    '\x7fFLAC',
    (packet) => {
      const info = streamInfoIn(packet.subarray(17));
      return info && { rate: info.sampleRate, skipped: 0 };
    },
  ],
];

/** The clock of a stream by its first packet; undefined for one that is no sound. */
export function oggClock(packet: Buffer): Clock | undefined {
  const start = packet.toString('latin1', 0, 8);
  const codec = CODECS.find(([name]) => start.startsWith(name));
  const clock = codec?.[1](Buffer.concat([packet.subarray(0, FIRST_PACKET_BYTES), SPACE]));
  return clock !== undefined && clock.rate > 0 && clock.rate <= MAX_SAMPLE_RATE ? clock : undefined;
}

/** Ogg: each page says up to which sample it goes. Streams that follow one another add up, streams side by side do not. */
export const readOgg: SoundReader = async ({ blocks, sizeBytes }, start) => {
  const lengths = new StreamLengths();
  let position = start;
  while (position + HEAD_BYTES <= sizeBytes) {
    const piece = await blocks.upTo(position, PIECE_BYTES);
    const isLast = position + piece.length >= sizeBytes;
    let at = 0;
    while (at + (isLast ? HEAD_BYTES : MAX_HEAD_BYTES) <= piece.length) {
      const isPage = piece.readUInt32BE(at) === PAGE_NUMBER;
      if (isPage) lengths.take(piece, at);
      const next = isPage ? -1 : piece.indexOf(PAGE, at + 1);
      at = isPage ? pageEnd(piece, at) : next === -1 ? piece.length - PAGE.length + 1 : next;
    }
    if (at === 0) break;
    position += at;
  }
  return lasting(lengths.seconds);
};

/** The lengths of the streams of sound in one file. */
class StreamLengths {
  readonly #clocks = new Map<number, Clock>();
  /** Where each stream begins, in seconds. */
  readonly #starts = new Map<number, number>();
  #done = 0;
  #current = 0;
  #isBeginning = true;

  take(piece: Buffer, at: number): void {
    const serial = piece.readUInt32LE(at + SERIAL);
    if (((piece[at + FLAGS] ?? 0) & BEGINS) !== 0) this.#begin(serial, piece.subarray(bodyOf(piece, at)));
    else this.#isBeginning = false;
    const clock = this.#clocks.get(serial);
    const sample = clock === undefined ? 0 : Number(piece.readBigInt64LE(at + SAMPLE));
    if (clock === undefined || sample <= 0) return;
    const end = (sample - clock.skipped) / clock.rate;
    const start = this.#starts.get(serial) ?? (end > MAX_PAGE_SECONDS ? end : 0);
    this.#starts.set(serial, start);
    this.#current = Math.max(this.#current, end - start);
  }

  get seconds(): number {
    return this.#done + this.#current;
  }

  /** Streams side by side begin together; one that begins later follows those that have ended. */
  #begin(serial: number, packet: Buffer): void {
    if (!this.#isBeginning) {
      this.#done += this.#current;
      this.#current = 0;
      this.#clocks.clear();
      this.#starts.clear();
    }
    this.#isBeginning = true;
    const isNew = !this.#clocks.has(serial) && this.#clocks.size < MAX_STREAMS;
    const clock = isNew ? oggClock(packet) : undefined;
    if (clock !== undefined) this.#clocks.set(serial, clock);
  }
}

const bodyOf = (piece: Buffer, at: number): number => at + HEAD_BYTES + (piece[at + SEGMENTS] ?? 0);

function pageEnd(piece: Buffer, at: number): number {
  let end = bodyOf(piece, at);
  for (let index = at + HEAD_BYTES, last = end; index < last; index += 1) end += piece[index] ?? 0;
  return end;
}
