import { encodeFlac } from './encode-flac.ts';
import { encodeOpus } from './encode-opus.ts';
import { clip, SAMPLE_RATE, toneSamples } from './tone.ts';

const CHUNK_SAMPLES = SAMPLE_RATE / 4;

function* encodePcm(durationSeconds: number): Generator<Buffer> {
  const totalSamples = Math.round(durationSeconds * SAMPLE_RATE);
  for (let start = 0; start < totalSamples; start += CHUNK_SAMPLES) {
    yield toneSamples(start, Math.min(CHUNK_SAMPLES, totalSamples - start));
  }
}

function* encodeWav(durationSeconds: number): Generator<Buffer> {
  const dataBytes = Math.round(durationSeconds * SAMPLE_RATE) * 2;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  yield header;
  yield* encodePcm(durationSeconds);
}

/** Repeats a clip's frames; a frame does not depend on others in both formats that use this. */
function* repeatFrames(
  frames: readonly Buffer[],
  frameSeconds: number,
  durationSeconds: number,
): Generator<Buffer> {
  const count = Math.ceil(durationSeconds / frameSeconds);
  const framesPerChunk = Math.max(1, Math.round(0.25 / frameSeconds));
  for (let first = 0; first < count; first += framesPerChunk) {
    const size = Math.min(framesPerChunk, count - first);
    yield Buffer.concat(
      Array.from({ length: size }, (_, index) => frames[(first + index) % frames.length] ?? Buffer.alloc(0)),
    );
  }
}

/** MPEG-2 Layer III, 64 kbit/s, 24 kHz: frames of 576 samples and 192 bytes, without a bit reservoir. */
const MP3_FRAME_BYTES = 192;
const MP3_FRAME_SECONDS = 576 / SAMPLE_RATE;

const mp3Frames = (): Buffer[] => {
  const bytes = clip('tone.mp3');
  const count = bytes.length / MP3_FRAME_BYTES;
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * MP3_FRAME_BYTES, (index + 1) * MP3_FRAME_BYTES),
  );
};

const AAC_FRAME_SECONDS = 1024 / SAMPLE_RATE;

/** ADTS frames have their length in 13 bits across the bytes 3 to 5. */
const aacFrames = (): Buffer[] => {
  const bytes = clip('tone.aac');
  const frames: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const length = (bytes.readUIntBE(start + 3, 3) >> 5) & 0x1fff;
    frames.push(bytes.subarray(start, start + length));
    start += length;
  }
  return frames;
};

export const SPEECH_FORMATS = {
  mp3: {
    contentType: 'audio/mpeg',
    encode: (seconds: number) => repeatFrames(mp3Frames(), MP3_FRAME_SECONDS, seconds),
  },
  opus: { contentType: 'audio/opus', encode: encodeOpus },
  aac: {
    contentType: 'audio/aac',
    encode: (seconds: number) => repeatFrames(aacFrames(), AAC_FRAME_SECONDS, seconds),
  },
  flac: { contentType: 'audio/flac', encode: encodeFlac },
  wav: { contentType: 'audio/wav', encode: encodeWav },
  pcm: { contentType: 'audio/pcm', encode: encodePcm },
} as const satisfies Record<
  string,
  { contentType: string; encode: (durationSeconds: number) => Iterable<Buffer> }
>;

export type SpeechFormat = keyof typeof SPEECH_FORMATS;

export const isSpeechFormat = (name: string): name is SpeechFormat => Object.hasOwn(SPEECH_FORMATS, name);
