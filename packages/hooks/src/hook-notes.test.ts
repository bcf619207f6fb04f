import { readHookNotes } from '@gateway/contracts/usage/hook-notes';
import { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import { expect, test } from 'vitest';
import { HookNotes } from './hook-notes.ts';

test('what many hooks did fits into a usage record', () => {
  const notes = new HookNotes();
  for (let index = 0; index < 60; index += 1)
    for (const side of ['input', 'output'] as const)
      notes.add(`${'n'.repeat(60)}${index}`, side, 'replaced', 12.4);
  const { text } = notes;
  expect(UsageDetail.safeParse({ hooks: text }).success).toBe(true);
  expect(readHookNotes(text ?? '').length).toBeGreaterThan(15);
});
