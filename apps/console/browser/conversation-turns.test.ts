import { expect, test } from 'vitest';
import { type Turn, turnsOf, withoutRepeated } from '../src/pages/requests/content/turns.ts';

const turn = (role: string, text: string): Turn => ({ role, pieces: [{ kind: 'text', name: null, text }] });
const [SYSTEM, HI, HELLO, HOW] = [
  turn('system', 'Be brief.'),
  turn('user', 'Hi'),
  turn('assistant', 'Hello'),
  turn('user', 'How are you?'),
];
const FIRST = { asked: [SYSTEM, HI], answered: [HELLO] };

test('a request that repeats an earlier one and its answer shows what follows them', () => {
  expect(withoutRepeated([SYSTEM, HI, HELLO, HOW], [FIRST])).toEqual([HOW]);
});

test('an answer that is sent back in another form is not shown twice', () => {
  expect(withoutRepeated([SYSTEM, HI, turn('assistant', 'Hello!'), HOW], [FIRST])).toEqual([HOW]);
});

test('the longest of several earlier requests counts, whatever is between', () => {
  const second = { asked: [SYSTEM, HI, HELLO, HOW], answered: [turn('assistant', 'Fine.')] };
  const other = { asked: [turn('user', 'Title?')], answered: [] };
  const third = [...second.asked, ...second.answered, turn('user', 'Good.')];
  expect(withoutRepeated(third, [FIRST, second, null, other])).toEqual([turn('user', 'Good.')]);
});

test('a request that continues by an id repeats its instructions only; the same words again are shown', () => {
  expect(withoutRepeated([SYSTEM, HI], [FIRST])).toEqual([HI]);
  expect(withoutRepeated([HOW], [FIRST])).toEqual([HOW]);
  expect(withoutRepeated([SYSTEM, HI], [])).toEqual([SYSTEM, HI]);
});

test('a response of a realtime session is shown by what was said', () => {
  const spoken = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_audio', seconds: 1, transcript: 'Hi' }],
  };
  const output = [
    { type: 'message', role: 'assistant', content: [{ type: 'output_audio', transcript: 'Hello' }] },
  ];
  const request = { instructions: 'Be brief.', input: [spoken] };
  expect(turnsOf({ endpoint: 'realtime', request, answer: { output } })).toEqual(FIRST);
});
