import { readFileSync } from 'node:fs';

export const SAMPLE_RATE = 24_000;
const FREQUENCY_HZ = 440;
const AMPLITUDE = 0.5;

/** One second of this provider's tone: 24 kHz, 16 bit, mono, silent at both ends so that it repeats. */
const makeSecond = (): Buffer => {
  const bytes = Buffer.alloc(SAMPLE_RATE * 2);
  for (let index = 0; index < SAMPLE_RATE; index += 1) {
    const time = index / SAMPLE_RATE;
    const loudness = Math.sin(Math.PI * time) ** 2;
    const sample = AMPLITUDE * loudness * Math.sin(2 * Math.PI * FREQUENCY_HZ * time);
    bytes.writeInt16LE(Math.round(sample * 32_767), index * 2);
  }
  return bytes;
};

let second: Buffer | null = null;

/** The samples from `start` on; a request across the end of a second is cut there. */
export const toneSamples = (start: number, count: number): Buffer => {
  second ??= makeSecond();
  const from = start % SAMPLE_RATE;
  return second.subarray(from * 2, Math.min(from + count, SAMPLE_RATE) * 2);
};

const clips = new Map<string, Buffer>();

/** A committed clip of the same tone: encoded frames, one after the other, without any container. */
export const clip = (name: 'tone.mp3' | 'tone.aac' | 'tone.opus-packets'): Buffer => {
  const cached = clips.get(name);
  if (cached) return cached;
  const bytes = readFileSync(new URL(`../../fixtures/clips/${name}`, import.meta.url));
  clips.set(name, bytes);
  return bytes;
};
