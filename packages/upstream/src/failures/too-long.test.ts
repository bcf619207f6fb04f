import { expect, test } from 'vitest';
import { isTooLong, tokenCountsOf, tooLongForMessages } from './too-long.ts';

/** Servers' very words, and the numbers in them: input and maximum. */
const WORDS: readonly (readonly [server: string, message: string, counts?: readonly [number, number]])[] = [
  ['Anthropic', 'prompt is too long: 206296 tokens > 200000 maximum', [206296, 200000]],
  [
    'Anthropic',
    'input length and `max_tokens` exceed context limit: 198157 + 8192 > 200000, decrease input length or `max_tokens` and try again',
  ],
  [
    'OpenAI',
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 202868 tokens (202767 in the messages, 101 in the functions). Please reduce the length of the messages or functions.",
    [202868, 128000],
  ],
  ['OpenAI', 'Your input exceeds the context window of this model. Please adjust your input and try again.'],
  [
    'Azure',
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.',
    [300000, 272000],
  ],
  [
    'vLLM',
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    [122946, 16384],
  ],
  [
    'vLLM',
    "This model's maximum context length is 262144 tokens. However, your request has 300000 input tokens. Please reduce the length of the input messages.",
    [300000, 262144],
  ],
  [
    'vLLM',
    "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)",
    [262145, 262144],
  ],
  [
    'vLLM',
    "You passed 300001 input tokens and requested 0 output tokens. However, the model's context length is only 262144 tokens, resulting in a maximum input length of 262144 tokens. Please reduce the length of the input prompt.",
    [300001, 262144],
  ],
  [
    'vLLM',
    'The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    [9000, 8192],
  ],
  [
    'vLLM',
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879 input tokens (8192 > 65536 - 57879).",
  ],
  [
    'SGLang',
    "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    [61709, 40960],
  ],
  [
    'SGLang',
    "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total of 202941 tokens: 170941 tokens from the input messages and 32000 tokens for the completion.",
    [202941, 202752],
  ],
  [
    'SGLang',
    'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.',
    [160062, 59862],
  ],
  [
    'Gemini',
    'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    [1196265, 1048575],
  ],
  ['Gemini', 'The input token count exceeds the maximum number of tokens allowed 1048576.'],
  [
    'xAI',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    [537812, 131072],
  ],
  [
    'Kimi',
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
    [291351, 262144],
  ],
  ['Bedrock', 'Input is too long for requested model.'],
  ['MiniMax', 'invalid params, context window exceeds limit (2013)'],
  [
    'LM Studio',
    'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
  ],
  [
    'LM Studio',
    'Trying to keep the first 30000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
    [30000, 4096],
  ],
  [
    'llama.cpp',
    'request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it',
    [66202, 65536],
  ],
  [
    'llama.cpp',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
  ],
  ['Ollama', 'prompt too long; exceeded max context length by 100 tokens'],
  ['Ollama', 'the input length exceeds the context length'],
  [
    'Mistral',
    'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    [65673, 32768],
  ],
  [
    'Cohere',
    'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 12000. Try using a shorter prompt.',
    [12000, 4081],
  ],
  [
    'DeepSeek',
    "This model's maximum context length is 131072 tokens. However, you requested 135000 tokens (131000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    [135000, 131072],
  ],
  ['Qwen', '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]'],
  ['Z.ai', 'Prompt exceeds max length'],
  ['TGI', 'Input validation error: `inputs` must have less than 4095 tokens. Given: 5012', [5012, 4095]],
  [
    'TGI',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`',
    [5000, 4096],
  ],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  [
    'Cerebras',
    'Please reduce the length of the messages or completion. Current length is 40000 while limit is 32768',
    [40000, 32768],
  ],
  [
    'Together',
    "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
    [516368, 262144],
  ],
  ['Fireworks', 'The prompt is too long: 140000, model maximum context length: 131071', [140000, 131071]],
  [
    'OpenRouter',
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 250000 tokens (249000 of text input, 1000 in the output). Please reduce the length of either one.",
    [250000, 131072],
  ],
  [
    'OpenRouter',
    'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    [131393, 131040],
  ],
  ['DeepInfra', 'Requested input length 150000 exceeds maximum input length 131072', [150000, 131072]],
  ['TensorRT-LLM', 'Prompt length (5000) exceeds maximum input length (4096)', [5000, 4096]],
  [
    'Vertex AI',
    'Unable to submit request because the input token count is 1100000 but model only supports up to 1048576. Reduce the input token count and try again.',
    [1100000, 1048576],
  ],
  [
    'Bedrock',
    '400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 10000',
    [10000, 8192],
  ],
  ['Bedrock', 'Input Tokens Exceeded: Number of input tokens exceeds maximum length.'],
  [
    'Cloudflare',
    'The estimated number of input and maximum output tokens (30511) exceeded this model context window limit (24000).',
    [30511, 24000],
  ],
  ['TabbyAPI', 'Prompt length 10000 is greater than max_seq_len 4096', [10000, 4096]],
  ['SambaNova', "This model's maximum sequence length is 8192 tokens. Please reduce the prompt."],
  ['Kimi', 'Input token length too long'],
  ['GitHub Models', 'Request body too large for gpt-4o model. Max size: 8000 tokens.'],
  ['LiteLLM', 'litellm.ContextWindowExceededError: litellm.BadRequestError: the request does not fit'],
  ['GitHub Copilot', 'prompt token count of 135000 exceeds the limit of 128000', [135000, 128000]],
];

test.for(WORDS)('%s: %s', ([, message, counts]) => {
  expect(isTooLong(message)).toBe(true);
  const expected = counts === undefined ? null : { input: counts[0], maximum: counts[1] };
  expect(tokenCountsOf({ message, tokens: null })).toEqual(expected);
  const shown = tooLongForMessages({ message, tokens: null }, message);
  const numbers = counts === undefined ? '' : `${counts[0]} tokens > ${counts[1]} maximum`;
  expect(shown).toContain('prompt is too long');
  expect(shown).toContain(numbers);
  expect(shown).not.toMatch(/\b0 tokens >/);
});

test.for([
  'Request too large for model `x` in organization `o` on tokens per minute (TPM): Limit 6000, Requested 7000. Please reduce the length of your prompt',
  'max_tokens is too large: 100000. This model supports at most 16384 completion tokens',
  'Rate limit reached: the maximum context length tier is exhausted',
  // Output that leaves no room for any input: a shorter one would not help.
  "'max_tokens' or 'max_completion_tokens' is too large: 10000. This model's maximum context length is 8192 tokens and your request has 5000 input tokens (10000 > 8192 - 5000).",
  "This model's maximum context length is 128000 tokens. However, you requested 200100 tokens (100 in the messages, 200000 in the completion). Please reduce the length of the messages or completion.",
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 12 `inputs` tokens and 5000 `max_new_tokens`',
  '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
  'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-5',
  "This request would exceed your organization's rate limit of 40,000 input tokens per minute. Please reduce the prompt length",
  'Too many tokens, please wait before trying again.',
  'Too many requests: the maximum context length of your tier is shared',
  'The response was cut off because it exceeded the output token limit.',
  'Quota exceeded for quota metric generate_content_input_token_count, limit: 250000',
  'string too long. Expected a string with maximum length 64',
  'temperature: Input should be less than or equal to 1',
  '',
])('%s is about something else', (message) => {
  expect(isTooLong(message)).toBe(false);
});
