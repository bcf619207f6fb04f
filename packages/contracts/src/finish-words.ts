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
    [
      'stop',
      'end_turn',
      'complete',
      'completed',
      'eos',
      'eos_token',
      'eosfound',
      'endoftext',
      'stop_token',
      'finished',
      'done',
      '1',
    ],
  ],
  ['stop-sequence', ['stop_sequence', 'stopstringfound']],
  ['tool-calls', ['tool_calls', 'tool_call', 'toolcalls', 'tool_use', 'function_call', 'function_calls']],
  // vLLM `repetition`: it ended a model that repeats itself; watsonx `time_limit` and `token_limit`.
  [
    'length',
    [
      'length',
      'max_tokens',
      'max_output_tokens',
      'max_new_tokens',
      'max_completion_tokens',
      'max_length',
      'maxpredictedtokensreached',
      'token_limit',
      'time_limit',
      'repetition',
      'incomplete',
      // Gemini, of an answer that another request would go on with.
      'continuation',
      '2',
    ],
  ],
  // Mistral, Z.ai, Anthropic, Bedrock, Cohere and LM Studio.
  [
    'context-length',
    [
      'model_length',
      'model_context_window_exceeded',
      'context_window_exceeded',
      'context_length',
      'context_length_exceeded',
      'contextlengthreached',
      'error_limit',
    ],
  ],
  // Z.ai, Gemini (also by the number of its enumeration), Bedrock, Qwen, MiniMax and Cohere beside OpenAI and Anthropic.
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
      'language',
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
  // Mistral, OpenRouter and vLLM `error`, SGLang and vLLM `abort`, Z.ai `network_error`, Kimi `engine_overloaded`, DeepSeek
  // `insufficient_system_resource`, Cohere `user_cancel`, Gemini's failures around its calls and images.
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
      'user_cancel',
      'userstopped',
      'modelunloaded',
      'interrupted',
      'internal_error',
      'server_error',
      'model_error',
      'overloaded',
      'engine_overloaded',
      'preempted',
      'timeout',
      'malformed_function_call',
      'malformed_model_output',
      'malformed_tool_use',
      'malformed_response',
      'unexpected_tool_call',
      'too_many_tool_calls',
      'missing_thought_signature',
      'no_image',
      'image_other',
      '9',
    ],
  ],
];

const MEANINGS: Readonly<Record<string, FinishMeaning>> = Object.fromEntries(
  WORDS.flatMap(([meaning, words]) => words.map((word) => [word, meaning] as const)),
);

/** Gemini's enumeration, which some of its proxies send as it is called there. */
const PREFIX = /^finish_?reason[._]/;

/** What servers send with each piece of an answer that goes on; Qwen and KoboldCpp write `null` as a text. */
const GOES_ON: ReadonlySet<string> = new Set(['', 'null', 'none', 'not_finished']);

/** Whether a server's member for the end of an answer says that there is one. */
export const endsAnswer = (word: unknown): boolean =>
  typeof word === 'number' || (typeof word === 'string' && !GOES_ON.has(word.toLowerCase()));

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
