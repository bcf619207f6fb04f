import { isObject } from '@gateway/contracts/json/json-object';
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

type Kind = 'number' | 'text' | 'list' | 'format';
interface Place {
  readonly attribute: string;
  readonly kind: Kind;
  /** Below the member by which it is found. */
  readonly path: Path;
  /** Of the places of one attribute the first counts. */
  readonly rank: number;
}

const placesOf = (
  kind: Kind,
  rows: readonly (readonly [attribute: string, paths: readonly Path[]])[],
): readonly (readonly [member: string, place: Place])[] =>
  rows.flatMap(([attribute, paths]) =>
    paths.flatMap(([member, ...path], rank) =>
      member === undefined ? [] : [[member, { attribute, kind, path, rank }] as const],
    ),
  );

/** By the members of a body, of which a request has a few. */
const PLACES: ReadonlyMap<string, readonly Place[]> = new Map(
  [
    ...Map.groupBy(
      [
        ...placesOf('number', NUMBERS),
        ...placesOf('text', TEXTS),
        ...placesOf('list', LISTS),
        ...placesOf('format', [[GEN_AI.outputType, FORMATS]]),
      ],
      ([member]) => member,
    ),
  ].map(([member, places]) => [member, places.map(([, place]) => place)]),
);

const READERS: Readonly<Record<Kind, (value: unknown) => SpanAttributes[string]>> = {
  number: (value) => (typeof value === 'number' ? value : undefined),
  text: (value) => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined),
  list: (value) => {
    const texts = [value].flat().filter((one) => typeof one === 'string');
    if (texts.length === 0) return undefined;
    return texts.slice(0, MAX_LISTED).map((text) => text.slice(0, MAX_TEXT));
  },
  format: (value) => {
    if (typeof value !== 'string') return undefined;
    if (value.includes('json')) return 'json';
    return value.startsWith('text') ? 'text' : undefined;
  },
};

/** What a request asks for by its parameters, as attributes of its span. */
export function requestParameters(body: unknown): SpanAttributes {
  if (!isObject(body)) return {};
  const found: Record<string, SpanAttributes[string]> = {};
  const ranks = new Map<string, number>();
  for (const member in body) {
    for (const { attribute, kind, path, rank } of PLACES.get(member) ?? []) {
      const value = below(body[member], path);
      if (value === undefined || value === null || (ranks.get(attribute) ?? Infinity) < rank) continue;
      ranks.set(attribute, rank);
      found[attribute] = READERS[kind](value);
    }
  }
  // The conventions name a count only where it is another.
  if (found[GEN_AI.choiceCount] === 1) delete found[GEN_AI.choiceCount];
  const { modalities } = body;
  if (Array.isArray(modalities) && modalities.includes('audio')) found[GEN_AI.outputType] = 'speech';
  return found;
}

function below(value: unknown, path: Path): unknown {
  let found = value;
  for (const member of path) found = isObject(found) ? found[member] : undefined;
  return found;
}
