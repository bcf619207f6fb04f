import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { isObject, type JsonObject } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';

type Path = readonly string[];

/** The members that bound one answer at every server of a protocol. Others may be ignored, and then bound nothing. */
const OWN_BOUNDS: Readonly<Record<TextProtocol, readonly Path[]>> = {
  chat: [['max_completion_tokens'], ['max_tokens']],
  responses: [['max_output_tokens']],
  messages: [['max_tokens']],
  gemini: [
    ['generationConfig', 'maxOutputTokens'],
    ['generation_config', 'max_output_tokens'],
  ],
};

/** The members by which servers let a request bound it. Which of them holds is the server's to decide. */
const BOUNDS: readonly Path[] = [
  ['max_output_tokens'],
  ['max_completion_tokens'],
  ['max_tokens'],
  ['max_new_tokens'],
  ['max_length'],
  ['max_gen_len'],
  ['n_predict'],
  ['num_predict'],
  ['options', 'num_predict'],
  ['generationConfig', 'maxOutputTokens'],
  ['generation_config', 'max_output_tokens'],
];

/** The members by which they let it raise it. */
const LEASTS: readonly Path[] = [['min_tokens'], ['min_new_tokens'], ['min_output_tokens']];

/** The members by which they bound reasoning, which may come on top of it. */
const REASONING_BOUNDS: readonly Path[] = [
  ['thinking', 'budget_tokens'],
  ['thinking_budget'],
  ['thinking_token_budget'],
  ['reasoning', 'max_tokens'],
  ['extra_body', 'google', 'thinking_config', 'thinking_budget'],
  ['generationConfig', 'thinkingConfig', 'thinkingBudget'],
  ['generation_config', 'thinking_config', 'thinking_budget'],
];

/** The members that request several answers to one prompt. */
const ANSWERS: readonly Path[] = [
  ['n'],
  ['best_of'],
  ['candidate_count'],
  ['num_return_sequences'],
  ['beam_width'],
  ['generationConfig', 'candidateCount'],
  ['generation_config', 'candidate_count'],
];

/** Beyond it a number is no number of tokens; no budget covers it. */
const MAX_TOKENS = 1e9;
const MAX_ANSWERS = 1e6;

/** The most output that a request demands. */
export interface OutputBound {
  /** Of one answer; null where the request leaves it to the model. */
  readonly tokens: number | null;
  readonly answers: number;
  /** Characters of the prompt that its answers repeat. Absent: none. */
  readonly echoedLength?: number;
}

export function outputBound(protocol: TextProtocol, body: JsonObject): OutputBound {
  const valuesOf = (paths: readonly Path[]) =>
    paths.map((path) => valueAt(body, path)).filter((value) => value !== undefined);
  const bounds = valuesOf(BOUNDS);
  // 0 of a Messages request generates nothing; elsewhere it stands for no bound, as a negative number does.
  const isBound = (value: unknown) => reportedCount(value) > 0 || (value === 0 && protocol === 'messages');
  const isBounded = valuesOf(OWN_BOUNDS[protocol]).length > 0 && bounds.every(isBound);
  const tokens = Math.max(0, ...[...bounds, ...valuesOf(LEASTS)].map(reportedCount));
  // In Messages it is a part of `max_tokens`.
  const reasoning =
    protocol === 'messages'
      ? 0
      : Math.max(0, ...REASONING_BOUNDS.map((path) => reportedCount(valueAt(body, path))));
  return {
    tokens: isBounded ? Math.min(MAX_TOKENS, tokens + reasoning) : null,
    answers: Math.min(MAX_ANSWERS, Math.max(1, ...ANSWERS.map((path) => reportedCount(valueAt(body, path))))),
  };
}

/** Null counts as absent. */
function valueAt(body: JsonObject, path: Path): unknown {
  let value: unknown = body;
  for (const member of path) value = isObject(value) ? value[member] : undefined;
  return value ?? undefined;
}
