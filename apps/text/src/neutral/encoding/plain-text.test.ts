import { expect, test } from 'vitest';
import { withoutAttribution } from './plain-text.ts';

const LINE = 'x-anthropic-billing-header: cc_version=2.1.37.3a3; cc_entrypoint=cli; cch=00000;';

test.for([
  ['a block of its own', [LINE, 'You are Otto.'], ['You are Otto.']],
  ['alone', [LINE], []],
  ['before the instructions', [`${LINE}\nYou are Otto.\nBe kind.`], ['You are Otto.\nBe kind.']],
  ['with the line ends of Windows', [`${LINE}\r\n\r\nYou are Otto.`], ['You are Otto.']],
  ['in one line with the instructions', [`${LINE} You are Otto.`], ['You are Otto.']],
  ['without its last semicolon', [`${LINE.slice(0, -1)}\nYou are Otto.`], ['You are Otto.']],
  ['with a value of any kind', ['x-anthropic-billing-header: …;\nYou are Otto.'], ['You are Otto.']],
  ['in a later block', ['Be kind.', `\n${LINE}\nYou are Otto.`], ['Be kind.', 'You are Otto.']],
  ['mentioned in a text', ['Never write x-anthropic-billing-header: a=1;'], null],
] as const)("Claude Code's accounting line is left out and nothing else: %s", ([, given, left]) => {
  const parts = given.map((text) => ({ type: 'text', text }) as const);
  expect(withoutAttribution(parts).map(({ text }) => text)).toEqual(left ?? given);
});
