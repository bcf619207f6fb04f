import type { z } from 'zod';
import { MessageBatchRequest } from '../anthropic/message-batches.ts';
import { CountTokensRequest, MessagesRequest } from '../anthropic/messages.ts';
import { BatchLine } from '../batch.ts';
import { BatchEmbedContentsRequest, EmbedContentRequest } from '../google/embed-content.ts';
import { CountTokensBody, GenerateContentBody } from '../google/gemini-request.ts';
import { BatchRequest } from '../openai/batches.ts';
import { ChatCompletionsRequest } from '../openai/chat.ts';
import { CompletionsRequest } from '../openai/completions.ts';
import {
  ConversationItemsRequest,
  ConversationRequest,
  ConversationUpdate,
} from '../openai/conversations.ts';
import { EmbeddingsRequest } from '../openai/embeddings.ts';
import { FileRequest } from '../openai/files.ts';
import { ImageEditJsonRequest, ImageEditRequest, ImageGenerationRequest } from '../openai/images.ts';
import { ModerationsRequest } from '../openai/moderations.ts';
import { ClientSecretRequest } from '../openai/realtime.ts';
import { CompactRequest, ResponsesRequest } from '../openai/responses.ts';
import { SpeechRequest } from '../openai/speech.ts';
import { TranscriptionRequest, TranslationRequest } from '../openai/transcriptions.ts';
import { RerankRequest } from '../rerank.ts';
import { GOOGLE_BASES } from './endpoints.ts';

/** What a request carries: JSON, or a form of text parts as the schema has them and of files. */
export interface RequestBody {
  readonly schema: z.ZodType;
  /** Names of a form's file parts, and which of them must be there. Absent: the body is JSON. */
  readonly files?: { readonly required: readonly string[]; readonly optional: readonly string[] };
  /** For a form that may be sent as JSON instead. */
  readonly json?: z.ZodType;
  /** Every member may be left out, and so may the body. */
  readonly isOptional?: true;
  /** The body is one JSON text on each line, which is what the schema describes. */
  readonly isLines?: true;
}

const contentBodies = (base: string): Record<string, RequestBody> => ({
  [`POST ${base}:generateContent`]: { schema: GenerateContentBody },
  [`POST ${base}:streamGenerateContent`]: { schema: GenerateContentBody },
  [`POST ${base}:countTokens`]: { schema: CountTokensBody },
  [`POST ${base}:embedContent`]: { schema: EmbedContentRequest },
  [`POST ${base}:batchEmbedContents`]: { schema: BatchEmbedContentsRequest },
});

/** The bodies of the endpoints that take one, by `METHOD /path`. */
export const REQUEST_BODIES: Readonly<Record<string, RequestBody>> = {
  'POST /v1/responses': { schema: ResponsesRequest },
  'POST /v1/responses/input_tokens': { schema: ResponsesRequest },
  'POST /v1/responses/compact': { schema: CompactRequest },
  'POST /v1/conversations': { schema: ConversationRequest, isOptional: true },
  'POST /v1/conversations/{id}': { schema: ConversationUpdate },
  'POST /v1/conversations/{id}/items': { schema: ConversationItemsRequest },
  'POST /v1/messages': { schema: MessagesRequest },
  'POST /v1/messages/count_tokens': { schema: CountTokensRequest },
  'POST /v1/chat/completions': { schema: ChatCompletionsRequest },
  'POST /v1/completions': { schema: CompletionsRequest },
  ...contentBodies(GOOGLE_BASES[0]),
  ...contentBodies(GOOGLE_BASES[1]),
  'POST /v1/messages/batches': { schema: MessageBatchRequest },
  'POST /v1/files': { schema: FileRequest, files: { required: ['file'], optional: [] } },
  'POST /v1/batches': { schema: BatchRequest },
  'POST /v1/images/generations': { schema: ImageGenerationRequest },
  'POST /v1/images/edits': {
    schema: ImageEditRequest,
    files: { required: ['image'], optional: ['mask', 'markup'] },
    json: ImageEditJsonRequest,
  },
  'POST /v1/images/jobs': { schema: BatchLine, isLines: true },
  'POST /v1/audio/jobs': { schema: BatchLine, isLines: true },
  'POST /v1/audio/speech': { schema: SpeechRequest },
  'POST /v1/realtime/client_secrets': { schema: ClientSecretRequest },
  'POST /v1/embeddings': { schema: EmbeddingsRequest },
  'POST /v1/rerank': { schema: RerankRequest },
  'POST /v2/rerank': { schema: RerankRequest },
  'POST /v1/moderations': { schema: ModerationsRequest },
  'POST /v1/audio/translations': {
    schema: TranslationRequest,
    files: { required: ['file'], optional: [] },
  },
  'POST /v1/audio/transcriptions': {
    schema: TranscriptionRequest,
    files: { required: ['file'], optional: [] },
  },
};
