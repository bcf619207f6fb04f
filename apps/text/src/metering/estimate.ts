import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage-record';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { NO_USAGE, type Usage } from '../protocols/conversation/reply.ts';
import type { TextRequest } from '../text-request.ts';

/**
 * Bytes of request per token of input, on the high side: English text has about four, source code three, and a request
 * in Chinese about as many tokens as characters of three bytes each.
 */
const BYTES_PER_TOKEN = 2;
/** No model takes more input; inline files weigh many more bytes than tokens. */
const MOST_INPUT_TOKENS = 1_000_000;
/** For models whose bound nobody has configured, where the request sets none. */
const MOST_OUTPUT_TOKENS = 32_768;

/** The most that a request can consume: reserved before the upstream is called. */
export function largestConsumption(request: TextRequest, model: ResolvedModel): Consumption {
  const bound = model.contextWindow ?? MOST_INPUT_TOKENS;
  return {
    ...NOTHING_CONSUMED,
    inputTokens: Math.min(bound, Math.ceil(request.bytes.length / BYTES_PER_TOKEN)),
    outputTokens: request.maxOutputTokens ?? model.maxOutputTokens ?? MOST_OUTPUT_TOKENS,
  };
}

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
