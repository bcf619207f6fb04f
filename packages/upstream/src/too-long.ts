import type { ProviderError } from './provider-error.ts';

interface TokenCounts {
  readonly asked: string;
  readonly maximum: string;
}

/** Where servers write both numbers into their message: vLLM and OpenAI's likes, llama.cpp, Anthropic. */
const COUNTS: readonly RegExp[] = [
  /maximum context length is (?<maximum>\d+) tokens\D*(?<asked>\d+)/,
  /\((?<asked>\d+) tokens\) exceeds the available context size \((?<maximum>\d+) tokens\)/,
  /(?<asked>\d+) tokens > (?<maximum>\d+) maximum/,
];

function countsOf({ message, tokens }: ProviderError): TokenCounts | null {
  if (tokens !== null) return { asked: String(tokens.asked), maximum: String(tokens.maximum) };
  for (const pattern of COUNTS) {
    const { asked, maximum } = pattern.exec(message)?.groups ?? {};
    if (asked !== undefined && maximum !== undefined) return { asked, maximum };
  }
  return null;
}

/** Claude Code makes its conversation shorter when it reads these words. */
const ANTHROPIC_WORDS = 'prompt is too long';

/** What a Messages caller is told of an input that does not fit, with the server's numbers where it gave any. */
export function tooLongForMessages(error: ProviderError, message: string): string {
  if (message.includes(ANTHROPIC_WORDS)) return message;
  const counts = countsOf(error);
  return counts === null
    ? `${ANTHROPIC_WORDS}: it exceeds the context window of the model`
    : `${ANTHROPIC_WORDS}: ${counts.asked} tokens > ${counts.maximum} maximum`;
}
