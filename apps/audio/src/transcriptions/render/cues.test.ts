import { expect, test } from 'vitest';
import { toSrt, toVtt } from './cues.ts';

const segments = [
  { start: 0, end: 3.32, text: ' The beach was a popular spot on a hot summer day.' },
  { start: 3.32, end: 8.47, text: ' People were swimming in the ocean.' },
];

test('srt has numbered cues, commas before the milliseconds and a blank line after each cue', () => {
  expect(toSrt(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:03,320\nThe beach was a popular spot on a hot summer day.\n\n' +
      '2\n00:00:03,320 --> 00:00:08,470\nPeople were swimming in the ocean.\n\n',
  );
});

test('vtt has its header, points before the milliseconds and no numbers', () => {
  expect(toVtt(segments)).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:03.320\nThe beach was a popular spot on a hot summer day.\n\n' +
      '00:00:03.320 --> 00:00:08.470\nPeople were swimming in the ocean.\n\n',
  );
});

test('times carry over into the next unit instead of showing 60 seconds or 1000 milliseconds', () => {
  expect(toSrt([{ start: 59.9996, end: 3599.9999, text: 'x' }])).toContain('00:01:00,000 --> 01:00:00,000');
  expect(toSrt([{ start: 360_000.5, end: 360_001, text: 'x' }])).toContain('100:00:00,500 --> 100:00:01,000');
});

test('a text cannot break out of its cue', () => {
  expect(toVtt([{ start: 0, end: 1, text: 'a\n\n00:00:05.000 --> 00:00:06.000\nb' }])).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na\n00:00:05.000 -> 00:00:06.000\nb\n\n',
  );
});

test('a speaker comes before the words', () => {
  expect(toSrt([{ start: 0, end: 1, text: 'Hi.', speaker: 'A' }])).toBe(
    '1\n00:00:00,000 --> 00:00:01,000\nA: Hi.\n\n',
  );
});

test('a silent recording gives no cues', () => {
  expect(toSrt([])).toBe('');
  expect(toVtt([])).toBe('WEBVTT\n\n');
});
