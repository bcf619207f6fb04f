import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { lookUp } from '@gateway/contracts/look-up';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import { textsOf } from '../inputs.ts';
import { droppedFrom } from './dropped-from.ts';
import type { EmbeddingsForm, Order, Vector } from './embeddings-form.ts';
import { isVector } from './openai-form.ts';

/** Its words for what vectors are for; it requires one. */
const PURPOSES = { query: 'search_query', document: 'search_document' } as const;

/** Its word for a caller's `input_type`. */
const purposeAtCohere = (purpose: string | null | undefined): string =>
  lookUp<string>(PURPOSES, purpose ?? 'document') ?? purpose ?? PURPOSES.document;

const Reply = z.looseObject({ embeddings: z.looseObject({ float: z.array(z.unknown()) }) });
const Reported = z.looseObject({
  meta: maybe(
    z.looseObject({ billed_units: maybe(z.looseObject({ input_tokens: z.unknown().optional() })) }),
  ),
});

/** The vectors of a reply of its models, wherever they are served. */
export function vectorsOfCohere(reply: unknown): readonly Vector[] | null {
  const vectors = readSchema(Reply, reply)?.data.embeddings.float;
  return vectors?.every(isVector) ? vectors : null;
}

/** What Cohere's models take beside their name, wherever they are. */
export const writeForCohere = async ({ request, inputs }: Order) => {
  const { input_type: purpose, dimensions, truncate } = request;
  return {
    body: {
      texts: await textsOf(inputs),
      input_type: purposeAtCohere(purpose),
      embedding_types: ['float'],
      ...(dimensions && { output_dimension: dimensions }),
      ...(truncate !== undefined && { truncate }),
    },
    dropped: droppedFrom(request, ['input_type', 'dimensions', 'truncate']),
  };
};

/** Cohere's second version. */
export const COHERE_FORM: EmbeddingsForm = {
  async write(order) {
    const { body, dropped } = await writeForCohere(order);
    return { body: { model: order.candidate.model, ...body }, dropped };
  },
  vectorsOf: vectorsOfCohere,
  tokensOf: (reply) =>
    reportedCount(readSchema(Reported, reply)?.data.meta?.billed_units?.input_tokens) || null,
};
