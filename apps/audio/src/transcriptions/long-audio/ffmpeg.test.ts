import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LONG_AUDIO } from '../../testing/start-audio.ts';
import { AUDIO_TYPES, inspectAudio } from '../inspect-audio.ts';
import { findSilences, READERS } from './ffmpeg.ts';

const pathOf = (fixture: string) =>
  fileURLToPath(new URL(`../../fixtures/audio/${fixture}`, import.meta.url));

test.for([
  'tone.wav',
  'tone.mp3',
  'tone.mpga',
  'tone.mpeg',
  'tone.mp4',
  'tone.m4a',
  'tone.flac',
  'tone.ogg',
  'tone.oga',
  'tone.webm',
])('%s is decoded by its bytes', async (fixture) => {
  const { contentType } = await inspectAudio({ path: pathOf(fixture), name: fixture, sizeBytes: 1 });
  const recording = { path: pathOf(fixture), contentType };
  const { durationSeconds } = await findSilences(LONG_AUDIO.ffmpeg, recording, AbortSignal.timeout(20_000));
  expect(durationSeconds).toBeGreaterThan(0.2);
});

test('every content type that is taken has a reader', () => {
  for (const { contentType } of Object.values(AUDIO_TYPES))
    expect(Object.keys(READERS)).toContain(contentType);
});
