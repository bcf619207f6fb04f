import type { Transcript, TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import { expect, test } from 'vitest';
import { type Joined, joinShifted, shiftPart } from './join-transcripts.ts';

function joined(
  wanted: TranscriptFormat,
  parts: readonly (readonly [start: number, Transcript])[],
): Transcript {
  let all: Joined | null = null;
  for (const [start, transcript] of parts)
    all = joinShifted(all, shiftPart({ start, end: start + 10, transcript }, all), wanted);
  if (all === null) throw new Error('no parts');
  return all.transcript;
}

test('segments and words are counted from the beginning of the recording, and numbered on', () => {
  const part: Transcript = {
    text: 'One two.',
    language: 'english',
    segments: [{ id: 0, seek: 100, start: 0.1, end: 2.2, text: ' One two.', tokens: [1] }],
    words: [{ word: 'One', start: 0.1, end: 0.5 }],
    usage: { type: 'duration', seconds: 3 },
  };
  expect(
    joined('verbose_json', [
      [0, part],
      [10.3, part],
    ]),
  ).toEqual({
    text: 'One two. One two.',
    language: 'english',
    segments: [
      { id: 0, seek: 100, start: 0.1, end: 2.2, text: ' One two.', tokens: [1] },
      { id: 1, seek: 1130, start: 10.4, end: 12.5, text: ' One two.', tokens: [1] },
    ],
    words: [
      { word: 'One', start: 0.1, end: 0.5 },
      { word: 'One', start: 10.4, end: 10.8 },
    ],
    usage: { type: 'duration', seconds: 6 },
  });
});

test('speakers without a name are not taken for those of another part; named ones are', () => {
  const segment = (id: number, speaker: string) => ({
    type: 'transcript.text.segment',
    id: `seg_00${id}`,
    start: id,
    end: id + 1,
    text: ` Hi from ${speaker}.`,
    speaker,
  });
  const part: Transcript = {
    text: 'A: Hi from A.\nBob: Hi from Bob.',
    segments: [segment(1, 'A'), segment(2, 'Bob')],
  };
  const { text, segments } = joined('diarized_json', [
    [0, part],
    [5, part],
  ]);
  expect(text).toBe('A: Hi from A.\nBob: Hi from Bob.\nB: Hi from A.\nBob: Hi from Bob.');
  expect(segments).toMatchObject([
    { id: 'seg_001', speaker: 'A', start: 1 },
    { id: 'seg_002', speaker: 'Bob', start: 2 },
    { id: 'seg_003', speaker: 'B', start: 6 },
    { id: 'seg_004', speaker: 'Bob', start: 7 },
  ]);
});

test('tokens are summed with their details; where a part reports nothing, nothing is reported of the whole', () => {
  const usage = {
    type: 'tokens',
    input_tokens: 5,
    input_token_details: { audio_tokens: 4, text_tokens: 1 },
    output_tokens: 2,
    total_tokens: 7,
  };
  expect(
    joined('json', [
      [0, { text: 'a', usage }],
      [1, { text: '', usage }],
    ]),
  ).toEqual({
    text: 'a',
    usage: {
      type: 'tokens',
      input_tokens: 10,
      input_token_details: { audio_tokens: 8, text_tokens: 2 },
      output_tokens: 4,
      total_tokens: 14,
    },
  });
  expect(
    joined('json', [
      [0, { text: 'a', usage }],
      [1, { text: 'b' }],
    ]).usage,
  ).toBeUndefined();
});

test('times are only joined where every part has them', () => {
  const timed: Transcript = { text: 'a', segments: [{ start: 0, end: 1, text: 'a' }] };
  expect(
    joined('srt', [
      [0, timed],
      [1, { text: 'b' }],
    ]).segments,
  ).toBeUndefined();
});

test('a part of silence does not take the times from the others', () => {
  const words = [{ word: 'a', start: 0, end: 1 }];
  const timed: Transcript = { text: 'a', segments: [{ start: 0, end: 1, text: 'a' }], words };
  const whole = joined('verbose_json', [
    [0, timed],
    [5, { text: ' ' }],
    [9, timed],
  ]);
  expect(whole).toMatchObject({
    text: 'a a',
    segments: [{ start: 0 }, { start: 9 }],
    words: [{}, { start: 9 }],
  });
});

test('words that only some parts have are left out', () => {
  const words = [{ word: 'a', start: 0, end: 1 }];
  expect(
    joined('verbose_json', [
      [0, { text: 'a', words }],
      [5, { text: 'b' }],
    ]).words,
  ).toBeUndefined();
});
