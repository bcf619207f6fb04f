import { expect, test } from 'vitest';
import { decodeMessagesError } from './errors.ts';

test.for([
  ['File file_011CNha8 not found', 'object_not_found'],
  ['model: claude-nope', 'upstream_misconfigured'],
] as const)('a not_found_error in the middle of a stream is classified as a 404: %s', ([message, code]) => {
  expect(decodeMessagesError({ type: 'not_found_error', message }, (text) => text).code).toBe(code);
});
