import { z } from 'zod';
import { MAX_EMBEDDING_INPUTS } from '../openai/embeddings.ts';

const Members = z.looseObject({});
const Content = z.looseObject({ parts: z.union([z.array(Members).min(1), Members]) });
const text = z.string().min(1).nullish();
const size = z.int().min(1).nullish();

/** `POST /v1beta/models/{model}:embedContent`, in both of Google's spellings. */
export const EmbedContentRequest = z.looseObject({
  content: Content,
  taskType: text,
  task_type: text,
  title: text,
  outputDimensionality: size,
  output_dimensionality: size,
});
export type EmbedContentRequest = z.infer<typeof EmbedContentRequest>;

/** `POST /v1beta/models/{model}:batchEmbedContents` */
export const BatchEmbedContentsRequest = z.looseObject({
  requests: z.array(EmbedContentRequest).min(1).max(MAX_EMBEDDING_INPUTS),
});
