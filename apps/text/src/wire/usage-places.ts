import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { ToolCalls } from '@gateway/contracts/usage/usage-record';
import { isObject, type JsonObject } from './json-object.ts';
import { callsOf, NO_CALLS, reportedCalls, usedCalls } from './tool-calls.ts';
import { NO_USAGE, type Usage, usageOf } from './usage.ts';

/** The path of a count within an object that reports usage. */
type Place = readonly [string] | readonly [string, string] | readonly [string, string, string];

/** Where servers of a protocol put each count, the protocol's own place first. */
export interface UsagePlaces {
  readonly input: readonly Place[];
  readonly cached: readonly Place[];
  readonly cacheWrite: readonly Place[];
  readonly cacheWrite1h: readonly Place[];
  readonly output: readonly Place[];
  readonly reasoning: readonly Place[];
  readonly total: readonly Place[];
  readonly audioSeconds: readonly Place[];
}

const NOWHERE: UsagePlaces = {
  input: [],
  cached: [],
  cacheWrite: [],
  cacheWrite1h: [],
  output: [],
  reasoning: [],
  total: [],
  audioSeconds: [],
};

/**
 * Chat Completions and Responses: servers of one use the names of the other. The further places of cached input are DeepSeek's,
 * Kimi's, and those of gateways that join Anthropic's names to OpenAI's; `prompt_audio_seconds` is Mistral's.
 */
export const OPENAI_PLACES: UsagePlaces = {
  input: [['prompt_tokens'], ['input_tokens']],
  cached: [
    ['prompt_tokens_details', 'cached_tokens'],
    ['input_tokens_details', 'cached_tokens'],
    ['prompt_cache_hit_tokens'],
    ['cached_tokens'],
    ['cache_read_input_tokens'],
  ],
  cacheWrite: [
    ['prompt_tokens_details', 'cache_write_tokens'],
    ['input_tokens_details', 'cache_write_tokens'],
    ['prompt_tokens_details', 'cache_creation_tokens'],
    ['cache_creation_input_tokens'],
  ],
  cacheWrite1h: [
    ['cache_creation', 'ephemeral_1h_input_tokens'],
    ['prompt_tokens_details', 'cache_creation_token_details', 'ephemeral_1h_input_tokens'],
  ],
  output: [['completion_tokens'], ['output_tokens']],
  reasoning: [
    ['completion_tokens_details', 'reasoning_tokens'],
    ['output_tokens_details', 'reasoning_tokens'],
    ['reasoning_tokens'],
  ],
  total: [['total_tokens']],
  audioSeconds: [['prompt_audio_seconds']],
};

/** llama.cpp's `timings`: `prompt_n` are the tokens that it had to read, without those in its cache. */
export const LLAMA_CPP_PLACES: UsagePlaces = {
  ...NOWHERE,
  input: [['prompt_n']],
  cached: [['cache_n']],
  output: [['predicted_n']],
};

/** Messages. `input_tokens` excludes what was read from and written to the cache. */
export const MESSAGES_PLACES: UsagePlaces = {
  ...NOWHERE,
  input: [['input_tokens'], ['prompt_tokens']],
  cached: [['cache_read_input_tokens']],
  cacheWrite: [['cache_creation_input_tokens']],
  cacheWrite1h: [['cache_creation', 'ephemeral_1h_input_tokens']],
  output: [['output_tokens'], ['completion_tokens']],
  reasoning: [['output_tokens_details', 'thinking_tokens']],
};

function valueAt(report: JsonObject, place: Place): unknown {
  let value: unknown = report;
  for (const member of place) value = isObject(value) ? value[member] : undefined;
  return value;
}

/** The first of these places that has a count; 0 where none has. */
export function countAt(report: JsonObject, places: readonly Place[]): number {
  for (const place of places) {
    const count = reportedCount(valueAt(report, place));
    if (count > 0) return count;
  }
  return 0;
}

/** Whether an object reports usage: a count of input or output is there, whatever it says. */
export const reportsUsage = (report: JsonObject, { input, output }: UsagePlaces): boolean =>
  [...input, ...output].some((place) => (valueAt(report, place) ?? null) !== null);

interface ReadOptions {
  /** The count of input excludes what was read from and written to the cache. */
  readonly excludesCache?: boolean;
  /** Calls of built-in tools that the answer itself shows. What the report says of a tool goes before them. */
  readonly calls?: ToolCalls;
}

const MS_PER_SECOND = 1000;

/** Calls that an answer shows, where nothing is reported yet; null for none. */
export function usageOfCalls(calls: ToolCalls): Usage | null {
  const used = usedCalls(calls);
  return callsOf(used) === null ? null : { ...NO_USAGE, ...used };
}

/** The usage that an object reports; null where it reports none. A count that cannot be one is 0, as one that is missing. */
export function readReport(
  report: unknown,
  places: UsagePlaces,
  { excludesCache = false, calls = NO_CALLS }: ReadOptions = {},
): Usage | null {
  if (!isObject(report) || !reportsUsage(report, places)) return usageOfCalls(calls);
  const count = (kind: keyof UsagePlaces) => countAt(report, places[kind]);
  const [cached, cacheWrite, audioSeconds] = [count('cached'), count('cacheWrite'), count('audioSeconds')];
  const written = count('input');
  const inputTokens = excludesCache ? written + cached + cacheWrite : written;
  const counts = {
    cachedInputTokens: cached,
    cacheWriteTokens: cacheWrite,
    cacheWrite1hTokens: count('cacheWrite1h'),
    ...usedCalls({ ...calls, ...reportedCalls(report) }),
    audioMs: audioSeconds * MS_PER_SECOND,
  };
  const rest = withTotal({ inputTokens, outputTokens: count('output') }, count('total'), audioSeconds > 0);
  return usageOf({ ...counts, ...rest, reasoningTokens: count('reasoning') || rest.reasoningTokens });
}

/**
 * What the total says beyond its parts. Some servers leave reasoning out of the output; Mistral leaves sound out of the input,
 * and bills it by time.
 */
function withTotal(
  { inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number },
  total: number,
  hearsSound: boolean,
) {
  const beyond = hearsSound ? 0 : Math.max(0, total - inputTokens - outputTokens);
  if (inputTokens === 0) return { inputTokens: beyond, outputTokens, reasoningTokens: 0 };
  const reasoningTokens = outputTokens === 0 ? 0 : beyond;
  return { inputTokens, outputTokens: outputTokens + beyond, reasoningTokens };
}
