import { z } from 'zod';
import { characterCount, type Problem, problem } from '../wire-types.ts';

const MAX_METADATA_PAIRS = 16;
const MAX_KEY_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 512;

/** Pairs of texts that a caller keeps with an object. */
export const Metadata = z.record(z.string(), z.string()).superRefine((metadata, context) => {
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_METADATA_PAIRS)
    context.addIssue(tooLong([], `at most ${MAX_METADATA_PAIRS} pairs`, 'invalid_value'));
  for (const [key, value] of pairs) {
    if (characterCount(key) > MAX_KEY_CHARACTERS)
      context.addIssue(
        tooLong([], `keys of at most ${MAX_KEY_CHARACTERS} characters`, 'string_above_max_length'),
      );
    else if (characterCount(value) > MAX_VALUE_CHARACTERS)
      context.addIssue(
        tooLong([key], `values of at most ${MAX_VALUE_CHARACTERS} characters`, 'string_above_max_length'),
      );
  }
});

const tooLong = (path: readonly string[], bound: string, code: Problem['code']) => {
  const text = `metadata is too long. It takes ${bound}.`;
  return problem(path, { code, openai: text, anthropic: text });
};
