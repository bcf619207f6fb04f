import { readFile } from 'node:fs/promises';

const FOLDER = new URL('../fixtures/audio/', import.meta.url);

/** One of the small recordings, as a client's file. */
export async function audioFile(fixture: string, name = fixture): Promise<File> {
  return new File([new Uint8Array(await readFile(new URL(fixture, FOLDER)))], name);
}

const HEADER_BYTES = 44;
const BYTES_PER_SECOND = 32_000;

/** A WAV file of exactly this size: 16 kHz, 16-bit, mono, silent. */
export function wavFile(sizeBytes: number, name = 'audio.wav'): File {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(sizeBytes - 8, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(BYTES_PER_SECOND / 2, 24);
  header.writeUInt32LE(BYTES_PER_SECOND, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(sizeBytes - HEADER_BYTES, 40);
  return new File([header, new Uint8Array(sizeBytes - HEADER_BYTES)], name);
}

/** So many seconds of silence. */
export const silence = (seconds: number): File =>
  wavFile(HEADER_BYTES + Math.round(seconds * BYTES_PER_SECOND));

/** So many seconds of a tone, as a WAV file, with pauses from and to these seconds. */
export function toneWithPauses(
  seconds: number,
  pauses: readonly (readonly [from: number, to: number])[],
): File {
  const perSecond = BYTES_PER_SECOND / 2;
  const samples = new Int16Array(Math.round(seconds * perSecond));
  for (let index = 0; index < samples.length; index += 1) {
    const at = index / perSecond;
    const isPause = pauses.some(([from, to]) => at >= from && at < to);
    samples[index] = isPause ? 0 : Math.round(8000 * Math.sin(2 * Math.PI * 440 * at));
  }
  const silent = wavFile(HEADER_BYTES + samples.byteLength);
  return new File([silent.slice(0, HEADER_BYTES), samples], 'talk.wav');
}
