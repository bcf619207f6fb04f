import { expect, test } from 'vitest';
import { callersParam } from './explain-refusal.ts';

test.for([
  ['max_output_tokens', 'responses', 'messages', 'max_tokens'],
  ['max_tokens', 'chat', 'responses', 'max_output_tokens'],
  ['output_config.format', 'messages', 'chat', 'response_format'],
  ['temperature', 'messages', 'responses', 'temperature'],
  ['input[3].content', 'responses', 'messages', null],
] as const)('%s of %s is reported to a caller of %s as %s', ([param, upstream, caller, expected]) => {
  expect(callersParam(param, upstream, caller)).toBe(expected);
});
