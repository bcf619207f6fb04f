import type { ProviderError } from './provider-error.ts';

interface TokenCounts {
  readonly input: number;
  readonly maximum: number;
}

/**
 * Servers' words for an input that does not fit, with both numbers where they have them. The first pattern that matches
 * decides, so those with numbers come first.
 */
const WORDS: readonly RegExp[] = [
  // Anthropic: the input itself, or the input and the bound on the output.
  /(?<input>\d[\d,]*) tokens > (?<maximum>\d[\d,]*) maximum/,
  /exceed context limit: (?<input>\d+) \+ \d+ > (?<maximum>\d+)/,
  // vLLM since 0.12: "you requested 0 output tokens and your prompt contains at least 262145 input tokens".
  /context length is (?:only )?(?<maximum>\d+) tokens\b.*?\bfor a total of (?:at least )?(?<input>\d+) tokens/s,
  /context length is (?:only )?(?<maximum>\d+) tokens\b.*?\bprompt contains (?:at least )?(?<input>\d+)/s,
  /passed (?<input>\d+) input tokens\b.*?context length is (?:only )?(?<maximum>\d+)/s,
  // vLLM: "(10000 > 8192 - 5000)" and "your request has 9000 input tokens".
  /maximum context length is (?<maximum>\d+) tokens\b.*?\b(?:has|resulted in) (?<input>\d+) (?:input )?tokens/s,
  // OpenAI, DeepSeek, OpenRouter ("requested about"), earlier versions of vLLM.
  /maximum context length is (?<maximum>\d+) tokens\b.*?\brequested (?:about )?(?<input>\d+) tokens/s,
  /prompt \(length (?<input>\d+)\) is longer than the maximum model length of (?<maximum>\d+)/,
  // SGLang, Together, OpenRouter.
  /input \((?<input>\d+) tokens\) is longer than the model'?s context length \((?<maximum>\d+)/,
  /maximum context length of (?<maximum>\d+) tokens\b.*?\btotal of (?<input>\d+) tokens/s,
  /(?:prompt|input) length \(?(?<input>\d+)(?: tokens)?\)? exceeds (?:the )?maximum (?:allowed )?(?:input )?length (?:of )?\(?(?<maximum>\d+)/i,
  // llama.cpp.
  /\((?<input>\d+) tokens\) exceeds the available context size \((?<maximum>\d+) tokens\)/,
  // Gemini, xAI, Kimi, Mistral, Fireworks, GitHub Copilot, Cerebras, Azure.
  /input token count \((?<input>\d+)\) exceeds the maximum number of tokens allowed \((?<maximum>\d+)/i,
  /maximum prompt length is (?<maximum>\d+) but the request contains (?<input>\d+)/i,
  /exceeded model token limit: (?<maximum>\d+) \(requested: (?<input>\d+)/i,
  /prompt contains (?<input>\d+) tokens\b.*?too large for model with (?<maximum>\d+) maximum context length/is,
  /prompt is too long: (?<input>\d+), model maximum context length: (?<maximum>\d+)/i,
  /(?:prompt|input) token count of (?<input>\d+) exceeds the limit of (?<maximum>\d+)/i,
  /current length is (?<input>\d+) while limit is (?<maximum>\d+)/i,
  // Vertex AI, Titan on Bedrock, Cloudflare, TabbyAPI.
  /input token count is (?<input>\d+) but (?:the )?model only supports up to (?<maximum>\d+)/i,
  /max input tokens: (?<maximum>\d+), request input token count: (?<input>\d+)/i,
  /tokens \((?<input>\d+)\) exceeded this model context window limit \((?<maximum>\d+)\)/i,
  /prompt length (?<input>\d+) is greater than max_seq_len (?<maximum>\d+)/i,
  /input tokens exceed the configured limit of (?<maximum>\d+) tokens\b.*?\bresulted in (?<input>\d+) tokens/is,
  // Text Generation Inference, Cohere, LM Studio.
  /inputs?`? must have less than (?<maximum>\d+) tokens\. given: (?<input>\d+)/i,
  /`?max_new_tokens`? must be <= (?<maximum>\d+)\. given: (?<input>\d+) `?inputs`? tokens/i,
  /prompt cannot exceed (?<maximum>\d+) - received (?<input>\d+)/i,
  /trying to keep the first (?<input>\d+) tokens\b.*?context length of (?:only )?(?<maximum>\d+)/is,
  /prompt has (?<input>\d[\d,]*) tokens?, but the configured context size is (?<maximum>\d[\d,]*)/i,
  // The same and others without numbers: Bedrock, Gemini, MiniMax, Ollama, Qwen, Z.ai, LM Studio, TensorRT-LLM.
  /prompt is too long|prompt too long|input is too long\b|prompt exceeds max length|prompt 超长/i,
  /exceeds? (?:the |this )?(?:model(?:'?s)? |maximum |max |available )*(?:context (?:window|length|size|limit)|prompt length)\b/i,
  /exceeded (?:the |this )?(?:model(?:'?s)? |maximum |max )*(?:context (?:window|length|size|limit)|token limit)\b/i,
  /maximum context length|context[_ ]length[_ ]exceeded|context[_ ]?window[_ ]?exceeded|context window exceeds limit/i,
  /maximum (?:prompt|sequence) length is \d|maximum input length (?:is|of) \d+ tokens|too many input tokens/i,
  /input token length (?:is )?too long|request body too large for .{1,80} max size: \d+ tokens/i,
  /input token count.*exceeds the maximum|input token exceed limit|number of input tokens exceeds/is,
  /(?:greater|larger|longer) than (?:the )?(?:model'?s )?(?:maximum )?context (?:length|size|window)/i,
  /range of input length should be|input length.*exceeds.*(?:maximum|context) length/is,
  /input tokens exceed the configured limit|reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /inputs?`? must have less than \d+ tokens|`?inputs`? tokens \+ `?max_new_tokens`? must be <=/i,
  /number of tokens in the prompt cannot exceed|tokens in request more than max tokens allowed/i,
  /max_?prompt_?tokens|exceeds (?:the )?maximum (?:allowed )?input length|too large for model with \d+ maximum/i,
];

/** A limit of a time, which passes: Groq and OpenAI say how many tokens it would have been. */
const OF_A_RATE =
  /\btokens per (?:sec|min|day|hour|month)|\btoo many requests\b|\brate limit|\bTPM\b|\bquota\b/i;

/** What was requested for the output alone, and the bound of the context, where a message has both. */
const OUTPUTS: readonly RegExp[] = [
  /(?<output>\d+) (?:tokens )?(?:in|for|of) the (?:completion|output)/,
  /requested (?<output>\d+) output tokens/,
  /max(?:_completion)?_tokens' is too large: (?<output>\d+)/,
  /and (?<output>\d+) `?max_new_tokens/,
];
const MAXIMUM = /context (?:length|window|size|limit)\D{1,24}(?<maximum>\d+)|must be <= (?<bound>\d+)/i;

/** Whether the output that was requested leaves no room for any input: a shorter one would not help. */
function isOutputTooLong(message: string): boolean {
  const output = OUTPUTS.map((pattern) => pattern.exec(message)?.groups?.output).find(Boolean);
  if (output === undefined) return false;
  const { maximum, bound } = MAXIMUM.exec(message)?.groups ?? {};
  return Number(output) >= Number(maximum ?? bound ?? Number.POSITIVE_INFINITY);
}

/** Whether a message says that the input does not fit into the model's context, so that a shorter one may. */
export const isTooLong = (message: string): boolean =>
  WORDS.some((pattern) => pattern.test(message)) && !OF_A_RATE.test(message) && !isOutputTooLong(message);

/** The input and its bound in tokens; null where the server does not say them, or says what cannot be the reason. */
export function tokenCountsOf({
  message,
  tokens,
}: Pick<ProviderError, 'message' | 'tokens'>): TokenCounts | null {
  if (tokens !== null) return tokens;
  for (const pattern of WORDS) {
    const { input, maximum } = pattern.exec(message)?.groups ?? {};
    if (input === undefined || maximum === undefined) continue;
    const counts = { input: numberOf(input), maximum: numberOf(maximum) };
    return counts.input > counts.maximum ? counts : null;
  }
  return null;
}

const numberOf = (digits: string): number => Number(digits.replaceAll(',', ''));

/** Claude Code shortens its conversation when it reads these words, and by how much it reads from the numbers. */
const ANTHROPIC_WORDS = 'prompt is too long';
const ANTHROPIC_COUNTS = /prompt is too long: \d+ tokens > \d+ maximum/;

/** The message for Messages clients about an input that does not fit, with the server's numbers if it sent any. */
export function tooLongForMessages(
  error: Pick<ProviderError, 'message' | 'tokens'>,
  message: string,
): string {
  if (ANTHROPIC_COUNTS.test(message)) return message;
  const counts = tokenCountsOf(error);
  if (counts !== null) return `${ANTHROPIC_WORDS}: ${counts.input} tokens > ${counts.maximum} maximum`;
  return message.includes(ANTHROPIC_WORDS)
    ? message
    : `${ANTHROPIC_WORDS}: it exceeds the context window of the model`;
}
