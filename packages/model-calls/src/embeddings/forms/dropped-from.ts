import type { EmbeddingsRequest } from '@gateway/contracts/openai/embeddings';

/** Members that every form carries, or the gateway sees to. */
const SEEN_TO = ['model', 'input', 'encoding_format'];

/** The members of a request that a form does not have. */
export const droppedFrom = (request: EmbeddingsRequest, takes: readonly string[]): readonly string[] =>
  Object.entries(request).flatMap(([name, value]) =>
    SEEN_TO.includes(name) || takes.includes(name) || (value ?? null) === null ? [] : [name],
  );
