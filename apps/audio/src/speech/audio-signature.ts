import { mpegFrame } from '../transcriptions/recording/mpeg-audio.ts';

/** How sound of one format begins: bytes at a place; undefined stands for any byte. */
interface Signature {
  readonly contentType: string;
  readonly bytes: readonly (number | undefined)[];
}

const ascii = (text: string): number[] => [...Buffer.from(text, 'latin1')];
const any = (count: number): undefined[] => Array<undefined>(count).fill(undefined);

const SIGNATURES: readonly Signature[] = [
  { contentType: 'audio/wav', bytes: [...ascii('RIFF'), ...any(4), ...ascii('WAVE')] },
  { contentType: 'audio/mpeg', bytes: ascii('ID3') },
  { contentType: 'audio/opus', bytes: [...ascii('OggS'), ...any(24), ...ascii('OpusHead')] },
  { contentType: 'audio/ogg', bytes: ascii('OggS') },
  { contentType: 'audio/flac', bytes: ascii('fLaC') },
  { contentType: 'audio/mp4', bytes: [...any(4), ...ascii('ftyp')] },
  { contentType: 'audio/webm', bytes: [0x1a, 0x45, 0xdf, 0xa3] },
  { contentType: 'audio/aiff', bytes: [...ascii('FORM'), ...any(4), ...ascii('AIF')] },
];
/** So many bytes show every signature. */
const LONGEST = Math.max(...SIGNATURES.map(({ bytes }) => bytes.length));

const fits = (bytes: Buffer, { bytes: signature }: Signature): boolean =>
  signature.every((byte, at) => at >= bytes.length || byte === undefined || byte === bytes[at]);

/** Whether more bytes could show another format than these do. */
const mayGrow = (bytes: Buffer): boolean =>
  bytes.length < LONGEST &&
  (bytes.length < 3 ||
    SIGNATURES.some(
      (one) => one.bytes[0] !== undefined && one.bytes.length > bytes.length && fits(bytes, one),
    ) ||
    (bytes.length < 8 && bytes[0] === 0));

/** What sound is by its first bytes. `undecided`: more of it may show that; null: nothing in it does. */
export function audioTypeOf(bytes: Buffer): string | 'undecided' | null {
  if (mayGrow(bytes)) return 'undecided';
  return SIGNATURES.find((one) => bytes.length >= one.bytes.length && fits(bytes, one))?.contentType ?? null;
}

/** Frames without a file around them begin with a mark of eleven bits, which raw samples may hold by chance. */
export function frameTypeOf(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xf6) === 0xf0) return 'audio/aac';
  return mpegFrame(bytes) === undefined ? null : 'audio/mpeg';
}
