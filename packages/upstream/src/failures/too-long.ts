import type { ProviderError } from './provider-error.ts';

interface TokenCounts {
  readonly input: string;
  readonly maximum: string;
}

/** Messages with both numbers: of vLLM and OpenAI's likes, llama.cpp, Anthropic. */
const COUNTS: readonly RegExp[] = [
  /maximum context length is (?<maximum>\d+) tokens\D*(?<input>\d+)/,
  /\((?<input>\d+) tokens\) exceeds the available context size \((?<maximum>\d+) tokens\)/,
  /(?<input>\d+) tokens > (?<maximum>\d+) maximum/,
];

function countsOf({ message, tokens }: ProviderError): TokenCounts | null {
  if (tokens !== null) return { input: String(tokens.input), maximum: String(tokens.maximum) };
  for (const pattern of COUNTS) {
    const { input, maximum } = pattern.exec(message)?.groups ?? {};
    if (input !== undefined && maximum !== undefined) return { input, maximum };
  }
  return null;
}

/** Claude Code shortens its conversation when it reads these words. */
const ANTHROPIC_WORDS = 'prompt is too long';

/** The message for Messages clients about an input that does not fit, with the server's numbers if it sent any. */
export function tooLongForMessages(error: ProviderError, message: string): string {
  if (message.includes(ANTHROPIC_WORDS)) return message;
  const counts = countsOf(error);
  return counts === null
    ? `${ANTHROPIC_WORDS}: it exceeds the context window of the model`
    : `${ANTHROPIC_WORDS}: ${counts.input} tokens > ${counts.maximum} maximum`;
}
