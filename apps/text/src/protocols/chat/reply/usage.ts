import { isObject, type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { addUsage, atTier, laterUsage, type Usage } from '../../../wire/usage.ts';
import { LLAMA_CPP_PLACES, OPENAI_PLACES, readReport } from '../../../wire/usage-places.ts';

/** What one answer reports that it used, in the completion or in the chunks of a stream. */
export interface UsageReport {
  /** Takes a completion, or the next chunk. */
  add(completion: JsonObject): void;
  /** Null where nothing has been reported. */
  readonly usage: Usage | null;
  /** The same with the tier that was named beside it. */
  readonly usageAtTier: Usage | null;
}

/**
 * Reads usage wherever servers put it: beside the choices, with each choice (Kimi's streams), in `x_groq`, in llama.cpp's `timings`.
 * Reports are cumulative; those of several choices are added up.
 */
export function createUsageReport(): UsageReport {
  let usage: Usage | null = null;
  let tier: unknown;
  const byChoice = new Map<unknown, Usage>();

  const addChoice = (index: unknown, report: unknown): void => {
    const used = readReport(report, OPENAI_PLACES);
    const known = laterUsage(byChoice.get(index) ?? null, used);
    if (known !== null) byChoice.set(index, known);
  };

  const all = () => laterUsage(usage, ofChoices([...byChoice.values()]));

  return {
    add: ({ usage: own, x_groq: groq, timings, choices, service_tier: named }) => {
      tier = named ?? tier;
      if (own) usage = laterUsage(usage, readReport(own, OPENAI_PLACES));
      if (groq) usage = laterUsage(usage, readReport(objectOf(groq).usage, OPENAI_PLACES));
      if (timings) usage = laterUsage(usage, readReport(timings, LLAMA_CPP_PLACES, { excludesCache: true }));
      for (const choice of Array.isArray(choices) ? choices : [])
        if (isObject(choice) && choice.usage) addChoice(choice.index ?? 0, choice.usage);
    },
    get usage() {
      return all();
    },
    get usageAtTier() {
      return atTier(all(), tier);
    },
  };
}

/** The answers to one prompt, which counts once. */
const ofChoices = (choices: readonly Usage[]): Usage | null =>
  choices.reduce<Usage | null>((sum, one) => {
    if (sum === null) return one;
    const { outputTokens, reasoningTokens } = addUsage(sum, one);
    return laterUsage(sum, { ...one, outputTokens, reasoningTokens });
  }, null);

/** The usage that a whole completion reports; null where it reports none. */
export const readUsage = (completion: JsonObject): Usage | null => reportIn(completion).usage;

/** The same with the tier that it names. */
export const readUsageAtTier = (completion: JsonObject): Usage | null => reportIn(completion).usageAtTier;

function reportIn(completion: JsonObject): UsageReport {
  const report = createUsageReport();
  report.add(completion);
  return report;
}

/** The chunk before `[DONE]` that `stream_options.include_usage` requests: it has usage and no choices. */
export const isUsageChunk = ({ choices, usage }: JsonObject): boolean =>
  isObject(usage) && (Array.isArray(choices) ? choices.length === 0 : (choices ?? null) === null);

export const encodeUsage = (usage: Usage) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    audio_tokens: 0,
  },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});
