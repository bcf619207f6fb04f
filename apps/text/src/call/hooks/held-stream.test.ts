import { joinFrames } from '@gateway/contracts/event-stream/event-frame';
import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import type { Checked } from '@gateway/hooks/request-hooks';
import type { Protocol } from '@gateway/upstream/protocol';
import { expect, test } from 'vitest';
import { HeldStream } from './held-stream.ts';
import { eventTexts } from './stream-pieces.ts';

const PASSED: Checked = { isBlocked: false, texts: null };
const HOLD = { windowChars: 20, overlapChars: 8, maxChars: 10_000 };
const SECRET = 'SECRET42';

/** What a caller gets of events, whose secret a hook replaces where it sees it whole. */
async function shownOf(protocol: Protocol, events: readonly object[]): Promise<string> {
  const reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
  const held = new HeldStream({
    protocol,
    hold: HOLD,
    check: async (texts) =>
      texts.some((text) => text.includes(SECRET))
        ? { isBlocked: false, texts: texts.map((text) => text.replaceAll(SECRET, '[S]')) }
        : PASSED,
  });
  let shown = '';
  for (const event of events) {
    const frames = reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    shown += String(joinFrames((await held.push(frames)).frames));
  }
  return shown + String(joinFrames((await held.end()).frames));
}

/** The texts of a stream, by their keys. */
function textsOf(protocol: Protocol, shown: string): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [ordinal, line] of shown.split('\n\n').filter(Boolean).entries())
    for (const { key, text } of eventTexts(protocol, JSON.parse(line.replace('data: ', '')), ordinal).pieces)
      texts[key] = (texts[key] ?? '') + text;
  return texts;
}

const chat = (index: number, delta: object, finish_reason: string | null = null) => ({
  choices: [{ index, delta, finish_reason }],
});
const say = (index: number, content: string) => chat(index, { content });

test.for([
  ['an event without text', [chat(0, {}), { choices: [], usage: null }]],
  ['an empty text', [say(0, '')]],
  ['reasoning', [chat(0, { reasoning_content: 'Hm.' })]],
  ["another answer's text and end", [say(1, 'Well.'), chat(1, {}, 'stop')]],
] as const)('a secret is found on both sides of %s', async ([, between]) => {
  const events = [say(0, 'It is SEC'), ...between, say(0, 'RET42, they say.'), chat(0, {}, 'stop')];
  expect(textsOf('chat', await shownOf('chat', events))['0/text/']).toBe('It is [S], they say.');
});

test('a secret is found in what a citation quotes', async () => {
  const citation = { type: 'char_location', cited_text: `They wrote ${SECRET}.`, document_index: 0 };
  const shown = await shownOf('messages', [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation } },
    { type: 'content_block_stop', index: 0 },
  ]);
  expect(shown).toContain('They wrote [S].');
  expect(shown).not.toContain(SECRET);
});

test('a secret is found in what a citation of Converse quotes', async () => {
  const citation = { title: 'a', sourceContent: [{ text: 'They wrote' }, { text: `${SECRET}.` }] };
  const shown = await shownOf('converse', [
    { contentBlockDelta: { contentBlockIndex: 0, delta: { citation } } },
    { contentBlockStop: { contentBlockIndex: 0 } },
  ]);
  expect(shown).toContain('[S].');
  expect(shown).not.toContain(SECRET);
});

test('a secret is found beside a citation in a block of text', async () => {
  const delta = (one: object) => ({ type: 'content_block_delta', index: 0, delta: one });
  const shown = await shownOf('messages', [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    delta({ type: 'text_delta', text: 'It is SEC' }),
    delta({ type: 'citations_delta', citation: { type: 'char_location' } }),
    delta({ type: 'text_delta', text: 'RET42.' }),
    { type: 'content_block_stop', index: 0 },
  ]);
  expect(textsOf('messages', shown)).toEqual({ '0/': 'It is [S].' });
});

test('each of several answers keeps its own overlap', async () => {
  const half = (index: number) => [...'Answer SECRET42 ends'].map((letter) => say(index, letter));
  const [one, other, third] = [half(0), half(1), half(2)];
  const events = one.flatMap((event, at) => [event, other[at] ?? {}, third[at] ?? {}]);
  const texts = textsOf('chat', await shownOf('chat', events));
  expect(Object.values(texts)).toEqual(Array(3).fill('Answer [S] ends'));
});

test('what follows a replaced text at the end of a window is still held', async () => {
  const events = ['Twelve chars SECRET42 SEC', 'RET42 and an end.'].map((text) => say(0, text));
  expect(textsOf('chat', await shownOf('chat', events))['0/text/']).toBe('Twelve chars [S] [S] and an end.');
});

test('a text that is over waits for nothing', async () => {
  const reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
  const held = new HeldStream({ protocol: 'chat', hold: HOLD, check: async () => PASSED });
  const push = async (event: object) =>
    String(
      joinFrames((await held.push(reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)))).frames),
    );
  expect(await push(say(0, 'Short.'))).toBe('');
  const call = (args: string) => chat(0, { tool_calls: [{ index: 0, function: { arguments: args } }] });
  expect(await push(call(''))).toContain('Short.');
  expect(await push(call('{}'))).toBe('');
  expect(await push(chat(0, {}, 'tool_calls'))).toContain('{}');
});

test('tokens of a replaced text are not shown', async () => {
  const logprobs = { content: [{ token: SECRET, logprob: -1 }] };
  const shown = await shownOf('chat', [
    { choices: [{ index: 0, delta: { content: SECRET }, logprobs, finish_reason: null }] },
  ]);
  expect(shown).toContain('[S]');
  expect(shown).not.toContain(SECRET);
});

test("each text of a function's call in Gemini's stream is replaced in its own place", async () => {
  const parts = [
    { text: `Mail ${SECRET}` },
    { functionCall: { name: 'send', args: { to: SECRET, city: 'Paris' } } },
  ];
  const shown = await shownOf('gemini', [{ candidates: [{ index: 0, content: { role: 'model', parts } }] }]);
  expect(JSON.parse(shown.replace('data: ', '')).candidates[0].content.parts).toEqual([
    { text: 'Mail [S]' },
    { functionCall: { name: 'send', args: { to: '[S]', city: 'Paris' } } },
  ]);
});

test.for([
  [
    'messages',
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', input: { to: SECRET } } },
  ],
  [
    'messages',
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'bash_code_execution_tool_result', content: { stdout: SECRET } },
    },
  ],
  ['chat', chat(0, { function_call: { arguments: SECRET } })],
  ['chat', chat(0, { tool_calls: [{ index: 0, custom: { input: SECRET } }] })],
  [
    'responses',
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'shell_call', action: { commands: [SECRET] } },
    },
  ],
  ['responses', { type: 'response.code_interpreter_call_code.delta', output_index: 0, delta: SECRET }],
] as const)('what %s has of texts in %j is checked', async ([protocol, event]) => {
  const shown = await shownOf(protocol, [event]);
  expect(shown).toContain('[S]');
  expect(shown).not.toContain(SECRET);
});

test('a text that its end repeats differently is shown as it ends', async () => {
  const at = { output_index: 0, content_index: 0 };
  const item = { type: 'message', content: [{ type: 'output_text', text: 'Trimmed' }] };
  const shown = await shownOf('responses', [
    { type: 'response.output_text.delta', ...at, delta: 'Trimmed ' },
    { type: 'response.output_text.done', ...at, text: 'Trimmed' },
    { type: 'response.output_item.done', output_index: 0, item },
  ]);
  expect(shown.match(/Trimmed/g)).toHaveLength(3);
});
