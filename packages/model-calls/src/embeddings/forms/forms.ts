import { BEDROCK_COHERE_FORM, BEDROCK_NOVA_FORM, BEDROCK_TITAN_FORM } from './bedrock-forms.ts';
import { COHERE_FORM } from './cohere-form.ts';
import type { EmbeddingsForm } from './embeddings-form.ts';
import { GEMINI_FORM } from './gemini-form.ts';
import { OPENAI_FORM } from './openai-form.ts';
import { VERTEX_EMBED_CONTENT_FORM, VERTEX_PREDICT_FORM } from './vertex-forms.ts';

/** Every form by its name in the quirks of a route. */
export const FORMS = {
  openai: OPENAI_FORM,
  cohere: COHERE_FORM,
  gemini: GEMINI_FORM,
  'bedrock-titan': BEDROCK_TITAN_FORM,
  'bedrock-nova': BEDROCK_NOVA_FORM,
  'bedrock-cohere': BEDROCK_COHERE_FORM,
  'vertex-predict': VERTEX_PREDICT_FORM,
  'vertex-embed-content': VERTEX_EMBED_CONTENT_FORM,
} as const satisfies Record<string, EmbeddingsForm>;
export type FormName = keyof typeof FORMS;
