import { expect, test } from 'vitest';
import { printable } from './printable.ts';

test('control characters in the output do not reach the terminal', () => {
  expect(printable('red\u001b[2J\u009b1m\u202eteam\nb')).toBe('red\\u001b[2J\\u009b1m\\u202eteam\nb');
  expect(JSON.parse(printable(JSON.stringify({ name: '\u007f\u009b' })))).toEqual({ name: '\u007f\u009b' });
});
