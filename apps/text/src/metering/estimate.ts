import { NO_USAGE, type Usage } from '../wire/usage.ts';

/** English text has about so many characters per token. */
const CHARACTERS_PER_TOKEN = 4;

/** For an upstream that did not say, or not to the end, what it used: at least what it did say. */
export function estimatedUsage(
  reported: Usage | null,
  { inputLength, outputLength }: { inputLength: number; outputLength: number },
): Usage {
  const known = reported ?? NO_USAGE;
  return {
    ...known,
    inputTokens: known.inputTokens || Math.ceil(inputLength / CHARACTERS_PER_TOKEN),
    outputTokens: Math.max(known.outputTokens, Math.ceil(outputLength / CHARACTERS_PER_TOKEN)),
    reported: false,
  };
}
