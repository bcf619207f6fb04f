import { createSpeech } from '../audio/create-speech.ts';
import { createTranscription, createTranslation } from '../audio/create-transcription.ts';
import {
  cancelMessageBatch,
  createMessageBatch,
  deleteMessageBatch,
  getMessageBatch,
  getMessageResults,
  listMessageBatches,
} from '../batches/message-batches.ts';
import {
  cancelBatch,
  createBatch,
  createFile,
  deleteFile,
  getBatch,
  getFileContent,
  getUploadedFile,
  listBatches,
  listFiles,
} from '../batches/openai-batches.ts';
import { applyGuardrail } from '../bedrock/apply-guardrail.ts';
import { converse, converseStream, countConverseTokens } from '../bedrock/converse.ts';
import { invoke, invokeStream } from '../bedrock/invoke.ts';
import { countCompletionInput, createCompletion } from '../chat/create-completion.ts';
import { createTextCompletion } from '../chat/create-text-completion.ts';
import { createContent } from '../gemini/create-content.ts';
import { createImage, createImageEdit, getFile } from '../images/image-handlers.ts';
import { countMessageTokens, createMessage } from '../messages/create-message.ts';
import { getModel, listModels } from '../models/list-models.ts';
import { jsonReply } from '../replies/reply.ts';
import { compactConversation } from '../responses/compaction.ts';
import { createConversation, getConversation } from '../responses/conversations.ts';
import { createResponse } from '../responses/create-response.ts';
import {
  cancelResponse,
  countResponseTokens,
  deleteResponse,
  getResponse,
  listInputItems,
} from '../responses/stored-responses.ts';
import { createEmbeddings } from '../retrieval/create-embeddings.ts';
import { createModeration } from '../retrieval/create-moderation.ts';
import { createCohereRerank, createRerank } from '../retrieval/create-rerank.ts';
import type { Handler } from './call.ts';

export interface Route {
  readonly method: string;
  /** `{id}` matches one segment. */
  readonly path: string;
  readonly handler: Handler;
  /** False for paths that need no key. */
  readonly needsKey?: false;
}

/** All endpoints of the simulator. */
export const ROUTE_TABLE: readonly Route[] = [
  { method: 'POST', path: '/v1/responses', handler: createResponse },
  { method: 'POST', path: '/v1/responses/input_tokens', handler: countResponseTokens },
  { method: 'POST', path: '/v1/responses/compact', handler: compactConversation },
  { method: 'GET', path: '/v1/responses/{id}', handler: getResponse },
  { method: 'DELETE', path: '/v1/responses/{id}', handler: deleteResponse },
  { method: 'POST', path: '/v1/responses/{id}/cancel', handler: cancelResponse },
  { method: 'GET', path: '/v1/responses/{id}/input_items', handler: listInputItems },
  { method: 'POST', path: '/v1/conversations', handler: createConversation },
  { method: 'GET', path: '/v1/conversations/{id}', handler: getConversation },
  { method: 'POST', path: '/v1/messages', handler: createMessage },
  { method: 'POST', path: '/v1/messages/count_tokens', handler: countMessageTokens },
  { method: 'POST', path: '/v1/messages/batches', handler: createMessageBatch },
  { method: 'GET', path: '/v1/messages/batches', handler: listMessageBatches },
  { method: 'GET', path: '/v1/messages/batches/{id}', handler: getMessageBatch },
  { method: 'DELETE', path: '/v1/messages/batches/{id}', handler: deleteMessageBatch },
  { method: 'POST', path: '/v1/messages/batches/{id}/cancel', handler: cancelMessageBatch },
  { method: 'GET', path: '/v1/messages/batches/{id}/results', handler: getMessageResults },
  { method: 'POST', path: '/v1/files', handler: createFile },
  { method: 'GET', path: '/v1/files', handler: listFiles },
  { method: 'GET', path: '/v1/files/{id}', handler: getUploadedFile },
  { method: 'DELETE', path: '/v1/files/{id}', handler: deleteFile },
  { method: 'GET', path: '/v1/files/{id}/content', handler: getFileContent },
  { method: 'POST', path: '/v1/batches', handler: createBatch },
  { method: 'GET', path: '/v1/batches', handler: listBatches },
  { method: 'GET', path: '/v1/batches/{id}', handler: getBatch },
  { method: 'POST', path: '/v1/batches/{id}/cancel', handler: cancelBatch },
  { method: 'POST', path: '/v1/chat/completions', handler: createCompletion },
  { method: 'POST', path: '/v1/completions', handler: createTextCompletion },
  { method: 'POST', path: '/v1/chat/completions/input_tokens', handler: countCompletionInput },
  { method: 'POST', path: '/v1beta/models/{id}', handler: createContent },
  { method: 'POST', path: '/v1/models/{id}', handler: createContent },
  { method: 'GET', path: '/v1/models', handler: listModels },
  { method: 'GET', path: '/v1/models/{id}', handler: getModel },
  { method: 'POST', path: '/v1/images/generations', handler: createImage },
  { method: 'POST', path: '/v1/images/edits', handler: createImageEdit },
  { method: 'POST', path: '/v1/audio/speech', handler: createSpeech },
  { method: 'POST', path: '/v1/audio/transcriptions', handler: createTranscription },
  { method: 'POST', path: '/v1/audio/translations', handler: createTranslation },
  { method: 'POST', path: '/v1/embeddings', handler: createEmbeddings },
  { method: 'POST', path: '/v1/rerank', handler: createRerank },
  { method: 'POST', path: '/v1/moderations', handler: createModeration },
  { method: 'POST', path: '/v2/rerank', handler: createCohereRerank },
  { method: 'POST', path: '/guardrail/{id}/version/{id}/apply', handler: applyGuardrail },
  { method: 'POST', path: '/model/{id}/converse', handler: converse },
  { method: 'POST', path: '/model/{id}/converse-stream', handler: converseStream },
  { method: 'POST', path: '/model/{id}/invoke', handler: invoke },
  { method: 'POST', path: '/model/{id}/invoke-with-response-stream', handler: invokeStream },
  { method: 'POST', path: '/model/{id}/count-tokens', handler: countConverseTokens },
  { method: 'GET', path: '/files/{id}', handler: getFile, needsKey: false },
  { method: 'GET', path: '/healthz', handler: () => jsonReply({ status: 'ok' }), needsKey: false },
  { method: 'GET', path: '/readyz', handler: () => jsonReply({ status: 'ok' }), needsKey: false },
  {
    method: 'GET',
    path: '/simulator/ledger',
    handler: ({ provider }) => jsonReply(provider.ledger.rows()),
    needsKey: false,
  },
];
