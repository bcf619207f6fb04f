import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { readTranscript } from './read-transcript.ts';
import { renderTranscript } from './render-transcript.ts';

const part = (start: unknown, end: unknown, text = 'Hi.') => ({ start, end, text });

/** What servers send, and the text and times that it has. */
test.for<[string, object | string, string, readonly (readonly [number, number])[] | undefined]>([
  [
    'a duration in quotes beside no segments',
    { duration: '11.0', text: 'Hello there.', segments: [] },
    'Hello there.',
    [],
  ],
  ['segments that are null', { text: 'Hi.', segments: null, duration: '1' }, 'Hi.', undefined],
  ['a time below zero', { text: 'Hi.', segments: [part(-0.02, 1)] }, 'Hi.', [[0, 1]]],
  [
    'an end that is null',
    { text: 'Hi. Hi.', segments: [part(0, null), part(2, 3)] },
    'Hi. Hi.',
    [
      [0, 2],
      [2, 3],
    ],
  ],
  [
    'a start that is missing',
    { text: 'Hi. Hi.', segments: [part(0, 1), part(undefined, 3)] },
    'Hi. Hi.',
    [
      [0, 1],
      [1, 3],
    ],
  ],
  ['an end before its start', { text: 'Hi.', segments: [part(2, 1)] }, 'Hi.', [[2, 2]]],
  ['times in quotes', { text: 'Hi.', segments: [part('0.5', '1.5')] }, 'Hi.', [[0.5, 1.5]]],
  [
    'times in nanoseconds',
    { text: 'Hi.', segments: [part(0, 1_500_000_000), part(1_500_000_000, 2e9)] },
    'Hi.',
    [
      [0, 1.5],
      [1.5, 2],
    ],
  ],
  [
    'a time of centuries',
    { text: 'Hi. Hi.', segments: [part(0, 1e300), part(2, 3)] },
    'Hi. Hi.',
    [
      [0, 2],
      [2, 3],
    ],
  ],
  ['no time at all', { text: 'Hi.', segments: [part(null, null)] }, 'Hi.', undefined],
  [
    'times that are NaN',
    '{"text":"NaN is \\"NaN\\".","segments":[{"start":NaN,"end":1,"text":"Hi.","avg_logprob":-Infinity}]}',
    'NaN is "NaN".',
    [[0, 1]],
  ],
  [
    'no text beside segments',
    { segments: [part(0, 1, ' Hi'), part(1, 2, ' there.')] },
    'Hi there.',
    [
      [0, 1],
      [1, 2],
    ],
  ],
  ['an empty text beside segments', { text: '', segments: [part(0, 1, ' Hi.')] }, 'Hi.', [[0, 1]]],
  [
    'words alone',
    {
      words: [
        { word: 'Hi', start: 0, end: 1 },
        { word: 'there', start: 1, end: null },
      ],
    },
    'Hi there',
    undefined,
  ],
  ['words that are null', { text: 'Hi.', words: null, segments: [part(0, 1)] }, 'Hi.', [[0, 1]]],
  [
    'a list of segments alone',
    [part('0', '1', ' Hi'), part(1, null, ' there.')],
    'Hi there.',
    [
      [0, 1],
      [1, 1],
    ],
  ],
  ['a list of speakers', [{ speaker: 'A', ...part(0, 1, 'Hi.') }], 'Hi.', [[0, 1]]],
  [
    'segments beside words that are texts',
    { text: 'Hi.', segments: [part(0, 1)], words: ['Hi.'], language: null },
    'Hi.',
    [[0, 1]],
  ],
  ['usage that is a text', { text: 'Hi.', usage: 'much', segments: [part(0, 1)] }, 'Hi.', [[0, 1]]],
])('%s: what can be said is said', ([, sent, text, times]) => {
  const body = typeof sent === 'string' ? sent : JSON.stringify(sent);
  const received = readTranscript(body, 'verbose_json');
  expect(received.transcript.text).toBe(text);
  expect(received.transcript.segments?.map(({ start, end }) => [start, end])).toEqual(times);
  const incompatible = () => new GatewayError('unsupported_value', 'no times');
  const rendered = (to: 'text' | 'json' | 'srt') =>
    renderTranscript({ body, received, requested: 'verbose_json', to, incompatible: incompatible });
  expect(rendered('text')).toBe(`${text}\n`);
  expect(JSON.parse(rendered('json'))).toMatchObject({ text });
  if (times === undefined) expect(() => rendered('srt')).toThrow('no times');
  // A whole transcript has no member left that a client could stumble over.
  if (received.body !== undefined) expect(JSON.parse(received.body)).toMatchObject({ text });
});

test('a transcript without a fault is not touched', () => {
  const body = '{"text":"Hi.","duration":1,"segments":[{"start":0,"end":1.0,"text":" Hi."}],"words":[]}';
  expect(readTranscript(body, 'verbose_json').body).toBeUndefined();
});

test('a text in brackets is a text', () => {
  expect(readTranscript('[Music]', 'text').transcript.text).toBe('[Music]');
  expect(readTranscript('[{Music}]', 'text').transcript.text).toBe('[{Music}]');
});

test('what has no text is no transcript', () => {
  for (const body of ['{}', '{"text":5}', '{"detail":"loading"}'])
    expect(() => readTranscript(body, 'json')).toThrow('cannot be read');
});
