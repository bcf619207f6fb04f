import { z } from 'zod';
import { maybe, maybeList, maybeNumber, maybeText } from '../json/reply-members.ts';

/** Replies of Gemini's `generateContent`, whole or as one frame of a stream: each frame has new parts. */

export const GeminiPart = z.looseObject({
  text: maybeText,
  /** The text is a summary of thoughts. */
  thought: maybe(z.boolean()),
  /** Of this part, for Gemini alone: it goes back as it came. */
  thoughtSignature: maybeText,
  functionCall: maybe(z.looseObject({ id: maybeText, name: maybeText, args: z.unknown().optional() })),
});
export type GeminiPart = z.infer<typeof GeminiPart>;

/** Where a sentence of the answer comes from. Offsets count bytes of UTF-8. */
const GroundingSupport = z.looseObject({
  segment: maybe(
    z.looseObject({
      startIndex: maybeNumber,
      endIndex: maybeNumber,
      text: maybeText,
      partIndex: maybeNumber,
    }),
  ),
  groundingChunkIndices: maybeList(z.number()),
});

export const GeminiGrounding = z.looseObject({
  webSearchQueries: maybeList(z.string()),
  groundingChunks: maybe(
    z.array(z.looseObject({ web: maybe(z.looseObject({ uri: maybeText, title: maybeText })) })),
  ),
  groundingSupports: maybeList(GroundingSupport),
});
export type GeminiGrounding = z.infer<typeof GeminiGrounding>;

const LogprobsCandidate = z.looseObject({ token: maybeText, logProbability: maybeNumber });

export const GeminiLogprobs = z.looseObject({
  chosenCandidates: maybeList(LogprobsCandidate),
  topCandidates: maybeList(z.looseObject({ candidates: maybeList(LogprobsCandidate) })),
});
export type GeminiLogprobs = z.infer<typeof GeminiLogprobs>;

const GeminiCandidate = z.looseObject({
  index: maybeNumber,
  content: maybe(z.looseObject({ parts: maybeList(GeminiPart) })),
  finishReason: maybe(z.union([z.string(), z.number()])),
  finishMessage: maybeText,
  groundingMetadata: maybe(GeminiGrounding),
  logprobsResult: maybe(GeminiLogprobs),
});

export const GeminiReply = z.looseObject({
  candidates: maybeList(GeminiCandidate),
  /** A prompt that was blocked has this and no candidates, under status 200. */
  promptFeedback: maybe(z.looseObject({ blockReason: maybeText, blockReasonMessage: maybeText })),
});
export type GeminiReply = z.infer<typeof GeminiReply>;
