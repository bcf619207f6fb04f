import { oggPage } from './ogg-page.ts';
import { clip } from './tone.ts';

/** The clip's packets: 20 ms each, constant bit rate. */
const PACKET_BYTES = 60;
const PACKET_SAMPLES = 960;
const PACKET_SECONDS = 0.02;
const PACKETS_PER_PAGE = 12;
/** The samples to skip, in 48 kHz, by the encoder that made the clip. */
const PRE_SKIP = 312;

const identification = (): Buffer => {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 0, 'latin1');
  head.set([1, 1], 8);
  head.writeUInt16LE(PRE_SKIP, 10);
  head.writeUInt32LE(24_000, 12);
  return head;
};

const tags = (): Buffer => {
  const vendor = Buffer.from('simulator');
  const bytes = Buffer.alloc(16 + vendor.length);
  bytes.write('OpusTags', 0, 'latin1');
  bytes.writeUInt32LE(vendor.length, 8);
  bytes.set(vendor, 12);
  return bytes;
};

/** Opus in Ogg (RFC 7845), page by page. */
export function* encodeOpus(durationSeconds: number): Generator<Buffer> {
  const packets = clip('tone.opus-packets');
  const packetsInClip = packets.length / PACKET_BYTES;
  const count = Math.ceil(durationSeconds / PACKET_SECONDS);
  yield Buffer.concat([
    oggPage({ packets: [identification()], granulePosition: 0, sequence: 0, isFirst: true }),
    oggPage({ packets: [tags()], granulePosition: 0, sequence: 1 }),
  ]);
  let sequence = 2;
  for (let first = 0; first < count; first += PACKETS_PER_PAGE) {
    const end = Math.min(first + PACKETS_PER_PAGE, count);
    const page = Array.from({ length: end - first }, (_, index) => {
      const start = ((first + index) % packetsInClip) * PACKET_BYTES;
      return packets.subarray(start, start + PACKET_BYTES);
    });
    yield oggPage({ packets: page, granulePosition: end * PACKET_SAMPLES, sequence, isLast: end === count });
    sequence += 1;
  }
}
