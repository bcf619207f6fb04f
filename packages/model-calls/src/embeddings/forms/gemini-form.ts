import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { lookUp } from '@gateway/contracts/look-up';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import { textsOf } from '../inputs.ts';
import { droppedFrom } from './dropped-from.ts';
import type { EmbeddingsForm, Order } from './embeddings-form.ts';
import { isVector } from './openai-form.ts';

/** Its words for what vectors are for. */
const TASKS = { query: 'RETRIEVAL_QUERY', document: 'RETRIEVAL_DOCUMENT' } as const;

/** Google's word for a caller's `input_type`. Where a caller of Google's form says nothing, Google decides. */
export function taskAtGoogle({ request: { input_type: purpose }, google }: Order): string | undefined {
  if (google !== null && (purpose ?? null) === null) return undefined;
  return lookUp<string>(TASKS, purpose ?? 'document') ?? purpose ?? TASKS.document;
}

const Reply = z.looseObject({ embeddings: z.array(z.looseObject({ values: z.unknown() })) });
/** Only newer versions report it. */
const Reported = z.looseObject({
  usageMetadata: maybe(z.looseObject({ promptTokenCount: z.unknown().optional() })),
});

/** The tokens of the inputs, where a reply reports them. */
export const promptTokensIn = (reply: unknown): number | null =>
  reportedCount(readSchema(Reported, reply)?.data.usageMetadata?.promptTokenCount) || null;

/** `batchEmbedContents` of the Gemini API. */
export const GEMINI_FORM: EmbeddingsForm = {
  isGoogles: true,
  async write(order) {
    const { request, inputs, google, candidate } = order;
    const { dimensions } = request;
    const more = {
      model: `models/${candidate.model}`,
      taskType: taskAtGoogle(order),
      ...(dimensions && { outputDimensionality: dimensions }),
    };
    const texts = await textsOf(inputs);
    return {
      body: {
        requests: texts.map((text, at) => ({
          ...{ ...more, title: google?.titles[at], content: { parts: [{ text }] } },
        })),
      },
      dropped: droppedFrom(request, ['input_type', 'dimensions']),
    };
  },
  vectorsOf(reply) {
    const vectors = readSchema(Reply, reply)?.data.embeddings.map(({ values }) => values);
    return vectors?.every(isVector) ? vectors : null;
  },
  tokensOf: promptTokensIn,
};
