import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import type { SpanAttributes } from '@gateway/contracts/trace/request-trace';
import { GEN_AI } from './gen-ai.ts';

type Path = readonly string[];

/** Gemini's own, in both of its spellings. */
const gemini = (name: string, other: string): Path[] => [
  ['generationConfig', name],
  ['generation_config', other],
];

/** Where bodies of all protocols have what the conventions name: the first that is there counts. */
const NUMBERS: readonly (readonly [attribute: string, paths: readonly Path[]])[] = [
  [
    GEN_AI.maxTokens,
    [
      ['max_output_tokens'],
      ['max_completion_tokens'],
      ['max_tokens'],
      ...gemini('maxOutputTokens', 'max_output_tokens'),
    ],
  ],
  [GEN_AI.temperature, [['temperature'], ...gemini('temperature', 'temperature')]],
  [GEN_AI.topP, [['top_p'], ...gemini('topP', 'top_p')]],
  [GEN_AI.topK, [['top_k'], ...gemini('topK', 'top_k')]],
  [GEN_AI.seed, [['seed'], ...gemini('seed', 'seed')]],
  [GEN_AI.frequencyPenalty, [['frequency_penalty'], ...gemini('frequencyPenalty', 'frequency_penalty')]],
  [GEN_AI.presencePenalty, [['presence_penalty'], ...gemini('presencePenalty', 'presence_penalty')]],
  [GEN_AI.choiceCount, [['n'], ...gemini('candidateCount', 'candidate_count')]],
  [GEN_AI.dimensions, [['dimensions']]],
];
const TEXTS: readonly (readonly [attribute: string, paths: readonly Path[]])[] = [
  [
    GEN_AI.reasoningLevel,
    [
      ['reasoning', 'effort'],
      ['reasoning_effort'],
      ['output_config', 'effort'],
      ['generationConfig', 'thinkingConfig', 'thinkingLevel'],
      ['generation_config', 'thinking_config', 'thinking_level'],
    ],
  ],
  [GEN_AI.previousResponseId, [['previous_response_id']]],
];
const LISTS: readonly (readonly [attribute: string, paths: readonly Path[]])[] = [
  [GEN_AI.stopSequences, [['stop'], ['stop_sequences'], ...gemini('stopSequences', 'stop_sequences')]],
  [GEN_AI.encodingFormats, [['encoding_format']]],
];
/** What says that an answer has to be JSON: a type of format, or a media type. */
const FORMATS: readonly Path[] = [
  ['text', 'format', 'type'],
  ['response_format', 'type'],
  ['output_config', 'format', 'type'],
  ['output_format', 'type'],
  ...gemini('responseMimeType', 'response_mime_type'),
];

const MAX_TEXT = 256;
const MAX_LISTED = 8;

/** What a request asks for by its parameters, as attributes of its span. */
export function requestParameters(body: unknown): SpanAttributes {
  if (!isObject(body)) return {};
  const found: Record<string, SpanAttributes[string]> = {};
  for (const [attribute, paths] of NUMBERS) {
    const value = firstAt(body, paths);
    if (typeof value === 'number') found[attribute] = value;
  }
  for (const [attribute, paths] of TEXTS) {
    const value = firstAt(body, paths);
    if (typeof value === 'string') found[attribute] = value.slice(0, MAX_TEXT);
  }
  for (const [attribute, paths] of LISTS) {
    const texts = [firstAt(body, paths)].flat().filter((one) => typeof one === 'string');
    if (texts.length > 0)
      found[attribute] = texts.slice(0, MAX_LISTED).map((text) => text.slice(0, MAX_TEXT));
  }
  // The conventions name a count only where it is another.
  if (found[GEN_AI.choiceCount] === 1) delete found[GEN_AI.choiceCount];
  const type = outputType(body);
  if (type !== undefined) found[GEN_AI.outputType] = type;
  return found;
}

function outputType(body: JsonObject): string | undefined {
  const { modalities } = body;
  if (Array.isArray(modalities) && modalities.includes('audio')) return 'speech';
  const format = firstAt(body, FORMATS);
  if (typeof format !== 'string') return undefined;
  if (format.includes('json')) return 'json';
  return format.startsWith('text') ? 'text' : undefined;
}

function firstAt(body: JsonObject, paths: readonly Path[]): unknown {
  for (const path of paths) {
    let value: unknown = body;
    for (const member of path) value = isObject(value) ? value[member] : undefined;
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}
