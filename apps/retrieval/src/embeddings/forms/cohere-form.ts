import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { lookUp } from '@gateway/contracts/look-up';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import { textsOf } from '../inputs.ts';
import { droppedFrom } from './dropped-from.ts';
import type { EmbeddingsForm } from './embeddings-form.ts';
import { isVector } from './openai-form.ts';

/** Its words for what vectors are for; it requires one. */
const PURPOSES = { query: 'search_query', document: 'search_document' } as const;

const Reply = z.looseObject({ embeddings: z.looseObject({ float: z.array(z.unknown()) }) });
const Reported = z.looseObject({
  meta: maybe(
    z.looseObject({ billed_units: maybe(z.looseObject({ input_tokens: z.unknown().optional() })) }),
  ),
});

/** Cohere's second version. */
export const COHERE_FORM: EmbeddingsForm = {
  async write({ request, inputs, candidate: { model } }) {
    const { input_type: purpose, dimensions, truncate } = request;
    return {
      body: {
        model,
        texts: await textsOf(inputs),
        input_type: lookUp<string>(PURPOSES, purpose ?? 'document') ?? purpose,
        embedding_types: ['float'],
        ...(dimensions && { output_dimension: dimensions }),
        ...(truncate !== undefined && { truncate }),
      },
      dropped: droppedFrom(request, ['input_type', 'dimensions', 'truncate']),
    };
  },
  vectorsOf(reply) {
    const vectors = readSchema(Reply, reply)?.data.embeddings.float;
    return vectors?.every(isVector) ? vectors : null;
  },
  tokensOf: (reply) =>
    reportedCount(readSchema(Reported, reply)?.data.meta?.billed_units?.input_tokens) || null,
};
