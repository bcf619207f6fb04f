import { expect, test } from 'vitest';
import { createCompactionSeals, MAX_SEALED_CHARACTERS } from '../wire/tokens/compaction-seal.ts';
import { openedConversation } from './opened-conversation.ts';
import { sealWindow } from './seal-window.ts';

const seals = createCompactionSeals('a secret');
const MEGABYTE = 1_000_000;
const user = (...content: object[]) => ({ type: 'message', role: 'user', content });
const text = (characters: number) => ({ type: 'input_text', text: 'x'.repeat(characters) });
const file = (characters: number) => ({
  type: 'input_file',
  filename: 'a.pdf',
  file_data: 'x'.repeat(characters),
});

/** The last step of a conversation, and what of it later turns get. */
const STEPS = {
  'as it is': [[user(text(3000), file(MEGABYTE))], [user(text(3000), file(MEGABYTE))]],
  'without files that are too large': [
    [user(text(3000), file(5 * MEGABYTE))],
    [user(text(3000), { type: 'input_text', text: '[a file]' })],
  ],
  'without the middle of a text that is too long': [
    [user(text(5 * MEGABYTE))],
    [
      user({
        type: 'input_text',
        text: expect.stringMatching(/^x+\n\[… 4988000 characters left out …\]\nx+$/),
      }),
    ],
  ],
  'as its summary alone, where it is too many messages': [
    Array.from({ length: 500 }, () => user(text(11_000))),
    [],
  ],
} as const;

test.for(Object.entries(STEPS))('the last step is sealed %s', ([, [step, later]]) => {
  const opened = openedConversation('responses', { input: [user(text(1)), { role: 'assistant' }, ...step] });
  const sealing = { summary: 'in short', isBeside: false, aboveTokens: null, owner: 'key_1' };
  const { window, sealed } = sealWindow(opened, sealing, seals);
  expect(sealed.length).toBeLessThan(MAX_SEALED_CHARACTERS);
  expect(seals.open(sealed, ['key_1'])).toMatchObject({ summary: 'in short', after: later });
  // The answer that follows has all of it.
  expect(window.after).toEqual(step);
});
