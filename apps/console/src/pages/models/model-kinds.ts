import type { Model } from '../../api/types.ts';

type Kind = Model['kind'];

/** Every kind of model, as people read it. */
export const MODEL_KINDS: Readonly<Record<Kind, string>> = {
  text: 'Text',
  image: 'Images',
  speech: 'Speech',
  transcription: 'Transcription',
  embedding: 'Embeddings',
  rerank: 'Rerank',
  moderation: 'Moderation',
  realtime: 'Realtime',
};

export const isModelKind = (kind: string): kind is Kind => Object.hasOwn(MODEL_KINDS, kind);

/** For a list to choose from. */
export const MODEL_KIND_CHOICES = Object.entries(MODEL_KINDS).map(([value, label]) => ({ value, label }));
