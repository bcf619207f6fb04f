import { z } from 'zod';
import { problem } from '../wire-types.ts';

/** Inputs of one request. */
export const MAX_EMBEDDING_INPUTS = 2048;

const text = z.string().min(1);
const tokens = z.array(z.int().min(0)).min(1);

const Input = z
  .union([text, z.array(text).min(1), tokens, z.array(tokens).min(1)])
  .superRefine((input, { addIssue }) => {
    if (typeof input === 'string' || typeof input[0] === 'number' || input.length <= MAX_EMBEDDING_INPUTS)
      return;
    const message = `Invalid 'input': array too long. Expected an array with maximum length ${MAX_EMBEDDING_INPUTS}, but got an array with length ${input.length} instead.`;
    addIssue(problem([], { code: 'array_above_max_length', openai: message, anthropic: message }));
  });

export const EncodingFormat = z.enum(['float', 'base64']);
export type EncodingFormat = z.infer<typeof EncodingFormat>;

/** `POST /v1/embeddings`. Only the members that the gateway checks or uses; all others pass unchanged. */
export const EmbeddingsRequest = z.looseObject({
  model: z.string().min(1),
  /** A text, its tokens (of OpenAI's vocabulary), or a list of either. */
  input: Input,
  dimensions: z.int().min(1).nullish(),
  encoding_format: EncodingFormat.nullish(),
  user: z.string().nullish(),
  /** What the vectors are for, where the model distinguishes that: `query` or `document`, or a word of its maker. Not in OpenAI's protocol. */
  input_type: z.string().min(1).nullish(),
});
export type EmbeddingsRequest = z.infer<typeof EmbeddingsRequest>;
