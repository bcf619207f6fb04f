import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import { textsOf } from '../inputs.ts';
import { droppedFrom } from './dropped-from.ts';
import type { EmbeddingsForm } from './embeddings-form.ts';
import { promptTokensIn, taskAtGoogle } from './gemini-form.ts';
import { isVector } from './openai-form.ts';

const TAKES = ['input_type', 'dimensions', 'truncate'];

/** Google cuts texts that are too long, unless it is told not to. */
const truncation = (truncate: unknown) =>
  truncate === undefined ? {} : { autoTruncate: truncate !== 'NONE' };

const Predictions = z.looseObject({
  predictions: z.array(
    z.looseObject({
      embeddings: z.looseObject({
        values: z.unknown(),
        statistics: maybe(z.looseObject({ token_count: z.unknown().optional() })),
      }),
    }),
  ),
});

/** `predict` of Vertex AI, for its text models and Gemini's first one. */
export const VERTEX_PREDICT_FORM: EmbeddingsForm = {
  method: ':predict',
  isGoogles: true,
  async write(order) {
    const { request, inputs, google } = order;
    const { dimensions, truncate } = request;
    const texts = await textsOf(inputs);
    const parameters = {
      ...(dimensions && { outputDimensionality: dimensions }),
      ...truncation(truncate),
    };
    return {
      body: {
        instances: texts.map((content, at) => ({
          ...{ content, task_type: taskAtGoogle(order), title: google?.titles[at] },
        })),
        ...(Object.keys(parameters).length > 0 && { parameters }),
      },
      dropped: droppedFrom(request, TAKES),
    };
  },
  vectorsOf(reply) {
    const vectors = readSchema(Predictions, reply)?.data.predictions.map(
      ({ embeddings }) => embeddings.values,
    );
    return vectors?.every(isVector) ? vectors : null;
  },
  tokensOf(reply) {
    const counts = readSchema(Predictions, reply)?.data.predictions.map(({ embeddings }) =>
      reportedCount(embeddings.statistics?.token_count),
    );
    return counts?.reduce((sum, count) => sum + count, 0) || null;
  },
};

const Embedding = z.looseObject({ embedding: z.looseObject({ values: z.unknown() }) });

/** `embedContent` of Vertex AI, which Gemini's later models have in place of `predict`: one text in a call. */
export const VERTEX_EMBED_CONTENT_FORM: EmbeddingsForm = {
  method: ':embedContent',
  isGoogles: true,
  async write(order) {
    const { request, inputs, google } = order;
    const { dimensions, truncate } = request;
    const [text = ''] = await textsOf(inputs);
    return {
      body: {
        content: { role: 'user', parts: [{ text }] },
        embedContentConfig: {
          taskType: taskAtGoogle(order),
          title: google?.titles[0],
          ...(dimensions && { outputDimensionality: dimensions }),
          ...truncation(truncate),
        },
      },
      dropped: droppedFrom(request, TAKES),
    };
  },
  vectorsOf(reply) {
    const vector = readSchema(Embedding, reply)?.data.embedding.values;
    return isVector(vector) ? [vector] : null;
  },
  tokensOf: promptTokensIn,
};
