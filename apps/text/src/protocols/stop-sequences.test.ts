import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StopSequenceStep } from '../conversion/stop-sequences.ts';
import { translateReply } from '../conversion/translate-reply.ts';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { planFor } from '../testing/test-streams.ts';
import { runStep } from '../wire/stream/step.ts';
import { NO_USAGE } from '../wire/usage.ts';

const answer = (pieces: readonly string[]): StreamEvent[] => [
  { type: 'start', usage: NO_USAGE },
  { type: 'text-start' },
  ...pieces.map((text): StreamEvent => ({ type: 'text-delta', text })),
  { type: 'text-end' },
  { type: 'finish', finish: { reason: 'stop' }, usage: { ...NO_USAGE, outputTokens: 7, reported: true } },
];

const read = (events: readonly StreamEvent[]) => ({
  text: events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : [])).join(''),
  finish: events.flatMap((event) => (event.type === 'finish' ? [event.finish] : [])),
});

const cutAt = (sequences: readonly string[], pieces: readonly string[]) =>
  read(runStep(new StopSequenceStep(sequences), answer(pieces)));

test('the text ends before the first stop sequence, which is named', () => {
  expect(cutAt(['END', 'STOP'], ['One, two, ST', 'OP three END'])).toEqual({
    text: 'One, two, ',
    finish: [{ reason: 'stop-sequence', stopSequence: 'STOP' }],
  });
});

test('a beginning of a stop sequence that does not go on is sent after all', () => {
  expect(cutAt(['STOP'], ['ST', 'O', 'ne', ' STO'])).toEqual({
    text: 'STOne STO',
    finish: [{ reason: 'stop' }],
  });
});

test('how a text is cut into pieces does not change where it stops', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 });
  const sequences = fc.array(
    fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 }),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  fc.assert(
    fc.property(letters, sequences, (text, stops) => {
      expect(cutAt(stops, [...text])).toEqual(cutAt(stops, text === '' ? [] : [text]));
    }),
  );
});

const stream = (...chunks: object[]) =>
  Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

const stopping = (quirks = { maxStopSequences: 0 }) =>
  planFor('messages', 'chat', { quirks, request: { stop_sequences: ['STOP'] } });

test('a caller learns at once that a stop sequence came, and the upstream can be left', () => {
  const translator = new StreamTranslator(stopping(), testReplyContext());
  const frames = translator.push(stream(delta('One STOP two'))).join('');
  expect(translator.ended).toBe(true);
  expect(frames).toContain('"text":"One "');
  expect(frames).toContain('"stop_reason":"stop_sequence","stop_sequence":"STOP"');
  expect(frames.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
  expect(translator.push(stream(delta('more'))).join('')).toBe('');
});

test('a whole reply is cut as a stream would be, and keeps its usage', () => {
  const body = {
    choices: [{ message: { content: 'One STOP two' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
  };
  const { body: message, usage } = translateReply(stopping(), body, testReplyContext());
  expect(message).toMatchObject({
    content: [{ text: 'One ' }],
    stop_reason: 'stop_sequence',
    stop_sequence: 'STOP',
  });
  expect(usage.outputTokens).toBe(4);
});
