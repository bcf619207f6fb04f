import { expect, test } from 'vitest';
import { endsAnswer, finishMeaning } from './finish-words.ts';

/** The words that these servers document, or are seen to send. */
const WORDS: readonly (readonly [server: string, meanings: Readonly<Record<string, string>>])[] = [
  ['OpenAI', { stop: 'stop', length: 'length', tool_calls: 'tool-calls', content_filter: 'refusal' }],
  [
    'Anthropic',
    {
      end_turn: 'stop',
      max_tokens: 'length',
      stop_sequence: 'stop-sequence',
      tool_use: 'tool-calls',
      pause_turn: 'pause',
      refusal: 'refusal',
      model_context_window_exceeded: 'context-length',
      compaction: 'compaction',
    },
  ],
  ['Mistral', { model_length: 'context-length', error: 'failed' }],
  [
    'Z.ai',
    {
      sensitive: 'refusal',
      network_error: 'failed',
      model_context_window_exceeded: 'context-length',
      max_tokens: 'length',
    },
  ],
  ['Kimi', { engine_overloaded: 'failed' }],
  ['DeepSeek', { insufficient_system_resource: 'failed' }],
  ['vLLM', { abort: 'failed', error: 'failed', repetition: 'length' }],
  // NVIDIA NIM runs either of these.
  ['SGLang', { stop: 'stop', length: 'length', tool_calls: 'tool-calls', abort: 'failed' }],
  ['Text Generation Inference, Together', { eos_token: 'stop', eos: 'stop', function_call: 'tool-calls' }],
  ['Groq', { stop: 'stop', length: 'length', tool_calls: 'tool-calls', function_call: 'tool-calls' }],
  [
    'Fireworks',
    {
      stop: 'stop',
      length: 'length',
      tool_calls: 'tool-calls',
      function_call: 'tool-calls',
      error: 'failed',
    },
  ],
  [
    'Cerebras, MiniMax',
    { stop: 'stop', length: 'length', tool_calls: 'tool-calls', content_filter: 'refusal' },
  ],
  ['watsonx', { token_limit: 'length', time_limit: 'length', cancelled: 'failed', eos_token: 'stop' }],
  [
    'LM Studio',
    { eosFound: 'stop', maxPredictedTokensReached: 'length', contextLengthReached: 'context-length' },
  ],
  ['Vercel', { 'tool-calls': 'tool-calls', 'content-filter': 'refusal' }],
  [
    'Gemini',
    {
      STOP: 'stop',
      MAX_TOKENS: 'length',
      SAFETY: 'refusal',
      FINISH_REASON_RECITATION: 'refusal',
      LANGUAGE: 'refusal',
      MALFORMED_FUNCTION_CALL: 'failed',
      TOO_MANY_TOOL_CALLS: 'failed',
      '2': 'length',
      '3': 'refusal',
    },
  ],
  [
    'Bedrock',
    {
      guardrail_intervened: 'refusal',
      content_filtered: 'refusal',
      malformed_model_output: 'failed',
      malformed_tool_use: 'failed',
      model_context_window_exceeded: 'context-length',
    },
  ],
  [
    'Cohere',
    {
      COMPLETE: 'stop',
      STOP_SEQUENCE: 'stop-sequence',
      USER_CANCEL: 'failed',
      TIMEOUT: 'failed',
      MAX_TOKENS: 'length',
      TOOL_CALL: 'tool-calls',
      ERROR_TOXIC: 'refusal',
      ERROR_LIMIT: 'context-length',
      ERROR: 'failed',
    },
  ],
];

test.for(WORDS)('%s: each word has its meaning', ([, meanings]) => {
  for (const [word, meaning] of Object.entries(meanings))
    expect([word, finishMeaning(word)]).toEqual([word, meaning]);
});

test('a word that nobody knows has no meaning, and none of a prototype', () => {
  for (const word of ['brand_new', 'constructor', '']) expect(finishMeaning(word)).toBeUndefined();
});

test('a word for an answer that goes on is no end', () => {
  for (const word of ['', 'null', 'NULL', 'none', 'not_finished', null, undefined])
    expect(endsAnswer(word)).toBe(false);
  for (const word of ['stop', 'brand_new', 1]) expect(endsAnswer(word)).toBe(true);
});
