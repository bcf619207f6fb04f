import type { ContentLog, EndedContent } from '@gateway/model-service/content-log/content-log';
import { expect, test } from 'vitest';
import { type brokenOff, SessionContent } from './session-content.ts';

/** What is gathered of a session for a log that takes everything. */
function startContent({ isOn = true, settleMs = 60_000 } = {}) {
  const lines: EndedContent[] = [];
  let cancelled = 0;
  const log: ContentLog = {
    begin: () =>
      isOn
        ? Promise.resolve({
            ...{ isLogged: true, note: { contentObject: 'an-object' } },
            end: (content) => void lines.push(content),
            cancel: () => {
              cancelled += 1;
            },
          })
        : null,
    sweep: async () => 0,
    close: async () => undefined,
  };
  const content = new SessionContent({
    ...{
      log,
      isOn: () => isOn,
      headers: { 'x-gateway-user': 'ann' },
      model: 'voice',
      channel: 'one',
      settleMs,
    },
  });
  const identity = { keyId: 'key_1', team: null };
  const respond = async (asked = {}, answer: ReturnType<typeof brokenOff> = { status: 'completed' }) => {
    const opened = await content.open('req_1', identity);
    opened?.begin(asked);
    return () => opened?.end({ id: 'req_2', requestId: 'req_1', identity, answer, error: null });
  };
  return { content, lines, respond, identity, cancelled: () => cancelled };
}

const written = (text: string) => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});
const inputOf = (line: EndedContent | undefined) =>
  line?.request !== null && line?.request !== undefined && 'value' in line.request
    ? line.request.value
    : null;

test('a response is logged with what was added since the one before, its sound and images by their sizes', async () => {
  const { content, lines, respond } = startContent();
  content.sessionIs({ instructions: 'Be brief.' });
  content.added(written('Hello'));
  content.added({
    ...{ type: 'message', role: 'user' },
    content: [
      { type: 'input_audio', audio: 'A'.repeat(64_000), transcript: 'Said.' },
      { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(4000)}` },
    ],
  });
  const end = await respond({ metadata: { topic: 'greeting' } });
  content.added(written('Of the next one'));
  end();
  (await respond({ instructions: 'Sing.', input: [written('Alone')] }))();
  expect(lines[0]).toMatchObject({
    facts: { ...{ id: 'req_2', requestId: 'req_1', keyId: 'key_1', endpoint: 'realtime' }, endUser: 'ann' },
    answer: { value: { status: 'completed' } },
    overlong: [],
  });
  expect(inputOf(lines[0])).toEqual({
    ...{ model: 'voice', instructions: 'Be brief.', metadata: { topic: 'greeting' } },
    input: [
      written('Hello'),
      {
        ...{ type: 'message', role: 'user' },
        content: [
          { type: 'input_audio', audio: '[audio, 48000 bytes]', transcript: 'Said.' },
          { type: 'input_image', image_url: expect.stringMatching(/^\[image\/png, 30\d\d bytes\]$/) },
        ],
      },
    ],
  });
  expect(inputOf(lines[1])).toMatchObject({
    instructions: 'Sing.',
    input: [written('Of the next one'), written('Alone')],
  });
});

test('speech is logged by its length and its transcript, which may come after the response', async () => {
  const { content, lines, respond } = startContent();
  content.heard(1240);
  content.spoken('item_1', true);
  content.heard(500);
  content.spoken('item_2', false);
  (await respond())();
  expect(lines).toHaveLength(0);
  content.transcribed('item_1', 'What is it?');
  const said = (part: object) => ({ type: 'message', role: 'user', content: [part] });
  expect(inputOf(lines[0])).toMatchObject({
    input: [
      said({ type: 'input_audio', seconds: 1.2, transcript: 'What is it?' }),
      said({ type: 'input_audio', seconds: 0.5 }),
    ],
  });
});

test.for([
  ['fails', (content: SessionContent) => content.transcribed('item_1', null)],
  ['never comes', (content: SessionContent) => content.close()],
] as const)('a transcript that %s holds no line for good', async ([, happens]) => {
  const { content, lines, respond } = startContent();
  content.spoken('item_1', true);
  (await respond())();
  expect(lines).toHaveLength(0);
  happens(content);
  expect(lines).toHaveLength(1);
});

test('what no response follows is bounded: the oldest is left out, and the line says so', async () => {
  const { content, lines, respond } = startContent();
  for (let count = 0; count < 30; count += 1) content.added(written(`${count} ${'a'.repeat(20_000)}`));
  (await respond())();
  expect(lines[0]?.overlong).toEqual(['request']);
  const text = JSON.stringify(inputOf(lines[0]));
  expect(text.length).toBeLessThan(300_000);
  expect(text).toContain('"29 a');
  expect(text).not.toContain('"0 a');
});

test('an item that is nested too deeply to be written is left out', async () => {
  const { content, lines, respond } = startContent();
  content.added(written('Hello'));
  content.added({ ...written('Deep'), deep: JSON.parse('['.repeat(400_000) + ']'.repeat(400_000)) });
  (await respond())();
  expect(lines[0]?.overlong).toEqual(['request']);
  expect(inputOf(lines[0])).toMatchObject({ input: [written('Hello')] });
});

test('without a log nothing is gathered', async () => {
  const { content, respond, lines, identity } = startContent({ isOn: false });
  content.added(written('Hello'));
  content.spoken('item_1', true);
  expect(content.open('req_1', identity)).toBe(null);
  (await respond())();
  expect(lines).toEqual([]);
});
