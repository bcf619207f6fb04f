import { readSchema } from '@gateway/contracts/json/read-schema';
import { lookUp } from '@gateway/contracts/look-up';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import { unsupportedMember } from '../../call/unsupported-member.ts';
import { textsOf } from '../inputs.ts';
import { vectorsOfCohere, writeForCohere } from './cohere-form.ts';
import { droppedFrom } from './dropped-from.ts';
import type { EmbeddingsForm, Order } from './embeddings-form.ts';
import { isVector } from './openai-form.ts';

/** InvokeModel reports tokens here for all models; Titan says them in its body as well. */
const TOKEN_HEADER = 'x-amzn-bedrock-input-token-count';

/** The text of an order for a model that embeds one in a call. */
async function onlyText({ inputs }: Pick<Order, 'inputs'>): Promise<string> {
  const [text = ''] = await textsOf(inputs);
  return text;
}

const TitanReply = z.looseObject({ embedding: z.unknown() });
const TitanReported = z.looseObject({ inputTextTokenCount: z.unknown().optional() });

/** Titan's text embeddings, of which the second version has dimensions to choose from. */
export const BEDROCK_TITAN_FORM: EmbeddingsForm = {
  tokenHeader: TOKEN_HEADER,
  async write({ request, inputs }) {
    const { dimensions } = request;
    return {
      body: { inputText: await onlyText({ inputs }), ...(dimensions && { dimensions }) },
      dropped: droppedFrom(request, ['dimensions']),
    };
  },
  vectorsOf(reply) {
    const vector = readSchema(TitanReply, reply)?.data.embedding;
    return isVector(vector) ? [vector] : null;
  },
  tokensOf: (reply) => reportedCount(readSchema(TitanReported, reply)?.data.inputTextTokenCount) || null,
};

/** Nova's words for what vectors are for; it requires one. */
const PURPOSES = { query: 'TEXT_RETRIEVAL', document: 'GENERIC_INDEX' } as const;
const TRUNCATIONS: readonly unknown[] = ['START', 'END', 'NONE'];

const NovaReply = z.looseObject({ embeddings: z.array(z.looseObject({ embedding: z.unknown() })) });

/** Nova's multimodal embeddings, of texts. */
export const BEDROCK_NOVA_FORM: EmbeddingsForm = {
  tokenHeader: TOKEN_HEADER,
  async write({ request, inputs }) {
    const { input_type: purpose, dimensions, truncate = 'END' } = request;
    if (!TRUNCATIONS.includes(truncate)) return unsupportedMember('truncate');
    return {
      body: {
        taskType: 'SINGLE_EMBEDDING',
        singleEmbeddingParams: {
          embeddingPurpose: lookUp<string>(PURPOSES, purpose ?? 'document') ?? purpose,
          ...(dimensions && { embeddingDimension: dimensions }),
          text: { truncationMode: truncate, value: await onlyText({ inputs }) },
        },
      },
      dropped: droppedFrom(request, ['input_type', 'dimensions', 'truncate']),
    };
  },
  vectorsOf(reply) {
    const vectors = readSchema(NovaReply, reply)?.data.embeddings.map(({ embedding }) => embedding);
    return vectors?.every(isVector) ? vectors : null;
  },
  tokensOf: () => null,
};

/** Cohere's models there: without a model in the body. Only the fourth version has dimensions. */
export const BEDROCK_COHERE_FORM: EmbeddingsForm = {
  tokenHeader: TOKEN_HEADER,
  write: writeForCohere,
  vectorsOf: vectorsOfCohere,
  tokensOf: () => null,
};
