import { MAX_CALLER_NAME_LENGTH } from '@gateway/contracts/usage/caller-names';
import { expect, test } from 'vitest';
import { callerNamesIn } from './caller-names.ts';

test('headers name a request before its body does, and what is empty names nothing', () => {
  const headers = { 'x-gateway-user': 'ann', 'x-gateway-label': ' ' };
  expect(callerNamesIn(headers, { endUser: 'ben', session: 'conv_1', label: null })).toEqual({
    endUser: 'ann',
    session: 'conv_1',
  });
  expect(callerNamesIn({}, { endUser: '' })).toEqual({});
});

test('a name has a bounded length, and nothing that turns or ends a line of a terminal', () => {
  const { endUser, label } = callerNamesIn({}, { endUser: 'x'.repeat(5000), label: 'a\u001b[31m\u202eb\n' });
  expect(endUser).toHaveLength(MAX_CALLER_NAME_LENGTH);
  expect(label).toBe('a[31mb');
});
