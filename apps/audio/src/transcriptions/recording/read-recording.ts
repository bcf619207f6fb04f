import { open } from 'node:fs/promises';
import type { AudioExtension } from '@gateway/contracts/openai/transcriptions';
import { FileBlocks, TooManySteps } from '@gateway/forms/file-blocks';
import { type AudioSource, type SoundFacts, type SoundReader, UNKNOWN_SOUND } from './audio-source.ts';
import { readFlac } from './flac.ts';
import { docTypeOf, readMatroska } from './matroska.ts';
import { readMp4 } from './mp4.ts';
import { mpegFrame, readMpegAudio } from './mpeg-audio.ts';
import { readMpegProgram } from './mpeg-program.ts';
import { oggClock, readOgg } from './ogg.ts';
import { readWav } from './wav.ts';

/** A format of recordings that is taken. */
interface AudioType {
  /** File endings that fit the content; the first is used where a file's own ending does not fit. */
  readonly extensions: readonly [AudioExtension, ...AudioExtension[]];
  readonly contentType: string;
  readonly read: SoundReader;
}

export const AUDIO_TYPES = {
  flac: { extensions: ['flac'], contentType: 'audio/flac', read: readFlac },
  wav: { extensions: ['wav'], contentType: 'audio/wav', read: readWav },
  webm: { extensions: ['webm'], contentType: 'audio/webm', read: readMatroska },
  mpegAudio: { extensions: ['mp3', 'mpga', 'mpeg'], contentType: 'audio/mpeg', read: readMpegAudio },
  mpegProgram: { extensions: ['mpeg'], contentType: 'video/mpeg', read: readMpegProgram },
  mp4: { extensions: ['mp4', 'm4a'], contentType: 'audio/mp4', read: readMp4 },
  m4a: { extensions: ['m4a', 'mp4'], contentType: 'audio/mp4', read: readMp4 },
  ogg: { extensions: ['ogg', 'oga'], contentType: 'audio/ogg', read: readOgg },
} as const satisfies Readonly<Record<string, AudioType>>;

type TypeName = keyof typeof AUDIO_TYPES;

/** A recording by its content alone. */
export interface Recording extends SoundFacts {
  readonly type: AudioType;
}

/** Pieces that are read of one file at most: hours of one-second fragments have fewer. */
const MAX_STEPS = 100_000;
/** The quietest sound in the densest format has more. A header that claims less is not believed. */
const FEWEST_BYTES_PER_SECOND = 16;

/** What a file is and how long it sounds. Undefined for what is no recording, or of no format that is taken. */
export async function readRecording(path: string): Promise<Recording | undefined> {
  await using file = await open(path);
  const { size: sizeBytes } = await file.stat();
  const source: AudioSource = { blocks: new FileBlocks(file, MAX_STEPS), sizeBytes };
  const { bytes, start } = await headOf(source);
  const name = await typeOf(source, bytes, start);
  if (name === undefined) return undefined;
  const type: AudioType = AUDIO_TYPES[name];
  return { type, ...believable(await soundOf(type, source, start), sizeBytes) };
}

async function soundOf(type: AudioType, source: AudioSource, start: number): Promise<SoundFacts> {
  try {
    return await type.read(source, start);
  } catch (error) {
    // A broken header: the provider decides whether the file can be decoded.
    if (error instanceof TooManySteps || error instanceof RangeError) return UNKNOWN_SOUND;
    throw error;
  }
}

const believable = ({ durationSeconds: seconds, hasAudio }: SoundFacts, sizeBytes: number): SoundFacts => ({
  hasAudio,
  durationSeconds:
    seconds !== null && Number.isFinite(seconds) && seconds <= sizeBytes / FEWEST_BYTES_PER_SECOND
      ? seconds
      : null,
});

const HEAD_BYTES = 128;
const TAG_HEAD_BYTES = 10;
/** Some programs write one tag before another. */
const MAX_TAGS = 8;

/** The first bytes after the tags that may come before the sound (ID3v2). */
async function headOf({ blocks }: AudioSource): Promise<{ readonly bytes: Buffer; readonly start: number }> {
  let start = 0;
  for (let tags = 0; ; tags += 1) {
    const bytes = await blocks.upTo(start, HEAD_BYTES);
    if (tags === MAX_TAGS || bytes.length < TAG_HEAD_BYTES || bytes.toString('latin1', 0, 3) !== 'ID3')
      return { bytes, start };
    const size = bytes.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
    const hasFooter = ((bytes[5] ?? 0) & 0x10) !== 0;
    start += TAG_HEAD_BYTES + size + (hasFooter ? TAG_HEAD_BYTES : 0);
  }
}

const OGG_BODY = 28;
/** Brands of sound alone; other brands are films, which may have sound too. */
const SOUND_BRAND = /^(?:M4[AB]|F4[AB]|3g[p2])/i;
/** Pictures and QuickTime, which begin as MP4 does. */
const FOREIGN_BRAND = /^(?:qt {2}|hei[cxsm]|hev[cx]|mif1|msf1|avi[fs]|crx )/;

async function typeOf(source: AudioSource, head: Buffer, start: number): Promise<TypeName | undefined> {
  const text = head.toString('latin1');
  if (/^(?:RIFF|RF64|BW64)[\s\S]{4}WAVE/.test(text)) return 'wav';
  if (text.startsWith('fLaC')) return 'flac';
  if (text.startsWith('OggS')) return oggClock(head.subarray(OGG_BODY)) && 'ogg';
  if (text.startsWith('\x1a\x45\xdf\xa3')) return (await docTypeOf(source)) === 'webm' ? 'webm' : undefined;
  if (text.startsWith('\0\0\x01\xba')) return 'mpegProgram';
  if (text.slice(4, 8) === 'ftyp') {
    const brand = text.slice(8, 12);
    if (FOREIGN_BRAND.test(brand)) return undefined;
    return SOUND_BRAND.test(brand) ? 'm4a' : 'mp4';
  }
  if (mpegFrame(head) !== undefined) return 'mpegAudio';
  // After its tags a file may have empty space.
  return start > 0 && /^\0/.test(text) ? 'mpegAudio' : undefined;
}
