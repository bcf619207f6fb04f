import { COHERE_FORM } from './cohere-form.ts';
import type { EmbeddingsForm } from './embeddings-form.ts';
import { GEMINI_FORM } from './gemini-form.ts';
import { OPENAI_FORM } from './openai-form.ts';

/** Every form by its name in the quirks of a route. */
export const FORMS = {
  openai: OPENAI_FORM,
  cohere: COHERE_FORM,
  gemini: GEMINI_FORM,
} as const satisfies Record<string, EmbeddingsForm>;
export type FormName = keyof typeof FORMS;
