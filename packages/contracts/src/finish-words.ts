import { lookUp } from './look-up.ts';

/** Why an answer ended, whatever its server calls it. */
export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'tool-calls'
  | 'length'
  /** The whole context is full, not only the bound on the output. */
  | 'context-length'
  | 'refusal'
  /** The upstream's own tool loop wants to be continued. */
  | 'pause'
  /** The conversation was compacted, and nothing is answered yet. */
  | 'compaction';

/** The same; `failed`: the server gave up, and what has come is not its answer. */
type FinishMeaning = FinishReason | 'failed';

/** The words that servers are documented or seen to send, in small letters, with `_` between their parts. */
const WORDS: readonly (readonly [FinishMeaning, readonly string[]])[] = [
  [
    'stop',
    ['stop', 'end_turn', 'complete', 'completed', 'eos', 'eos_token', 'stop_token', 'finished', 'done', '1'],
  ],
  ['stop-sequence', ['stop_sequence']],
  ['tool-calls', ['tool_calls', 'tool_call', 'tool_use', 'function_call', 'function_calls']],
  [
    'length',
    [
      'length',
      'max_tokens',
      'max_output_tokens',
      'max_new_tokens',
      'max_completion_tokens',
      'max_length',
      'token_limit',
      'incomplete',
      '2',
    ],
  ],
  // Mistral, Z.ai and Anthropic.
  [
    'context-length',
    [
      'model_length',
      'model_context_window_exceeded',
      'context_window_exceeded',
      'context_length',
      'context_length_exceeded',
    ],
  ],
  // Z.ai, Gemini, Bedrock, Qwen, MiniMax and Cohere beside OpenAI and Anthropic.
  [
    'refusal',
    [
      'content_filter',
      'content_filtered',
      'refusal',
      'sensitive',
      'output_sensitive',
      'safety',
      'recitation',
      'blocklist',
      'prohibited_content',
      'spii',
      'model_armor',
      'image_safety',
      'image_prohibited_content',
      'image_recitation',
      'guardrail_intervened',
      'data_inspection_failed',
      'content_policy_violation',
      'moderation',
      'moderation_blocked',
      'blocked',
      'error_toxic',
      '3',
      '4',
      '6',
      '7',
      '8',
    ],
  ],
  ['pause', ['pause_turn']],
  ['compaction', ['compaction']],
  // Mistral and vLLM `error`, SGLang and vLLM `abort`, Z.ai `network_error`, DeepSeek `insufficient_system_resource`.
  [
    'failed',
    [
      'error',
      'failed',
      'failure',
      'network_error',
      'insufficient_system_resource',
      'abort',
      'aborted',
      'cancel',
      'cancelled',
      'canceled',
      'interrupted',
      'internal_error',
      'server_error',
      'model_error',
      'overloaded',
      'preempted',
      'timeout',
      'malformed_function_call',
      'malformed_model_output',
      'malformed_tool_use',
      'unexpected_tool_call',
      '9',
    ],
  ],
];

const MEANINGS: Readonly<Record<string, FinishMeaning>> = Object.fromEntries(
  WORDS.flatMap(([meaning, words]) => words.map((word) => [word, meaning] as const)),
);

/** Gemini's enumeration, which some of its proxies send as it is called there. */
const PREFIX = /^finish_?reason[._]/;

/** Whether a member in which a server says how an answer ended says that it gave up. */
export const meansFailure = (word: unknown): boolean =>
  (typeof word === 'string' || typeof word === 'number') && finishMeaning(word) === 'failed';

/** What a server's word for the end of an answer means; undefined for a word that is not known. */
export const finishMeaning = (word: string | number): FinishMeaning | undefined =>
  lookUp(
    MEANINGS,
    String(word)
      .toLowerCase()
      .replaceAll(/[\s-]+/g, '_')
      .replace(PREFIX, ''),
  );
