import { expect, test } from 'vitest';
import { translateReply } from '../../../conversion/translate-reply.ts';
import { StreamTranslator } from '../../../conversion/translate-stream.ts';
import { testReplyContext } from '../../../testing/test-context.ts';
import { planFor } from '../../../testing/test-streams.ts';
import { ThinkTags, type ThoughtPiece, type UntaggedHead } from './think-tags.ts';

const WITH = ['<think>\nFive, I think.</think>\n\nFive.', '\nFive, I think.', 'Five.'] as const;
const CLOSED = ['Five, I think.</think>\n\nFive.', 'Five, I think.', 'Five.'] as const;
const PLAIN = ['Five < six.', '', 'Five < six.'] as const;

/** Text, thought and answer, by what is known of an answer without an opening tag. */
const ANSWERS: readonly (readonly [UntaggedHead, string, string, string])[] = [
  ['unknown', ...WITH],
  ['unknown', ...CLOSED],
  ['unknown', ...PLAIN],
  ['text', ...WITH],
  ['text', ...PLAIN],
  ['thought', ...WITH],
  ['thought', ...CLOSED],
  // The model did not think: what was taken for a thought is its answer.
  ['thought', 'Five < six.', 'Five < six.', 'Five < six.'],
];

test.for(ANSWERS)('%s: %j is taken apart, however it is cut', ([untagged, text, thought, answer]) => {
  for (let size = 1; size <= text.length; size += 1) {
    const tags = new ThinkTags(untagged);
    const pieces: ThoughtPiece[] = [];
    for (let at = 0; at < text.length; at += size) pieces.push(...tags.push(text.slice(at, at + size)));
    pieces.push(...tags.end(false));
    const joined = (kind: string) => pieces.flatMap((one) => (one.kind === kind ? [one.text] : [])).join('');
    expect([joined('reasoning'), joined('text')]).toEqual([thought, answer]);
  }
});

const chunk = (choice: object) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
const translatorFor = (thinkTags: true | 'opened' | 'written') =>
  new StreamTranslator(planFor('messages', 'chat', { quirks: { thinkTags } }), testReplyContext());

test('a thought that the template opens is shown as it comes, where the setting says so', () => {
  const translator = translatorFor('opened');
  expect(translator.push(chunk({ delta: { content: 'Five, ' } })).join('')).toContain('"thinking":"Five, "');
  expect(translator.push(chunk({ delta: { content: 'yes.</think>Five.' } })).join('')).toMatch(
    /yes\..*"text":"Five\."/s,
  );
});

test('an answer that was taken for a thought is given as text once', () => {
  const translator = translatorFor('opened');
  const frames = [
    translator.push(chunk({ delta: { content: 'Five.' } })),
    translator.push(chunk({ delta: {}, finish_reason: 'stop' })),
    translator.end(),
  ];
  expect(
    frames
      .flat()
      .join('')
      .match(/"text":"Five\."/g),
  ).toHaveLength(1);
});

test('text without tags is shown as it comes, where the model writes both', () => {
  expect(
    translatorFor('written')
      .push(chunk({ delta: { content: 'Five.' } }))
      .join(''),
  ).toContain('"text":"Five."');
});

test('a thought without an opening tag is one, streamed and whole', () => {
  const translator = translatorFor(true);
  translator.push(chunk({ delta: { content: 'Five, I think.' } }));
  const frames = translator.push(chunk({ delta: { content: '</think>Five.' } }));
  expect(frames.join('')).toMatch(/"thinking":"Five, I think\.".*"text":"Five\."/s);
  const plan = planFor('messages', 'chat', { quirks: { thinkTags: true } });
  const message = { role: 'assistant', content: 'Five, I think.</think>\nFive.' };
  const body = { choices: [{ message, finish_reason: 'stop' }] };
  expect(translateReply(plan, body, testReplyContext()).body).toMatchObject({
    content: [
      { type: 'thinking', thinking: 'Five, I think.' },
      { type: 'text', text: 'Five.' },
    ],
  });
});

test('text that is held is shown when a call, the end or reasoning in a member of its own comes', () => {
  const call = { index: 0, id: 'c', function: { name: 'f', arguments: '{}' } };
  for (const next of [
    { delta: { tool_calls: [call] } },
    { delta: {}, finish_reason: 'stop' },
    { delta: { reasoning_content: 'Hm.' } },
  ]) {
    const translator = translatorFor(true);
    translator.push(chunk({ delta: { content: 'Let me look.' } }));
    expect(translator.push(chunk(next)).join('')).toContain('"text":"Let me look."');
  }
});
