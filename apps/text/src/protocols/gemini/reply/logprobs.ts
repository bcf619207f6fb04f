import type { GeminiLogprobs } from '@gateway/contracts/google/gemini-wire';

type Candidate = NonNullable<GeminiLogprobs['chosenCandidates']>[number];

/** Token probabilities as both of OpenAI's protocols have them. */
export const decodeLogprobs = ({ chosenCandidates = [], topCandidates = [] }: GeminiLogprobs): object[] =>
  chosenCandidates.map((chosen, index) => ({
    ...entry(chosen),
    top_logprobs: (topCandidates[index]?.candidates ?? []).map(entry),
  }));

const entry = ({ token = '', logProbability = 0 }: Candidate) => ({
  token,
  logprob: logProbability,
  bytes: [...Buffer.from(token)],
});
