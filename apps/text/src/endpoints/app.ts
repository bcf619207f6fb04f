import { GOOGLE_BASES } from '@gateway/contracts/endpoints/endpoints';
import { type Counting, countsWhereItReserves } from '@gateway/model-service/counted-request';
import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { TextServices } from '../call/request/text-call.ts';
import {
  CHAT,
  COMPACT,
  COMPLETIONS,
  MESSAGES,
  RESPONSES,
  type TextEndpoint,
} from '../call/request/text-endpoint.ts';
import type { Acceptance } from './background/accept-response.ts';
import {
  createCancelHandler,
  createDeleteHandler,
  createReadHandler,
} from './background/background-response.ts';
import type { TextBatchService } from './batches/batch-service.ts';
import { messageBatches } from './batches/message-batches.ts';
import { openaiBatches } from './batches/openai-batches.ts';
import {
  createConversation,
  deleteConversation,
  readConversation,
  updateConversation,
} from './conversations/conversation-handlers.ts';
import { addItems, deleteItem, listItems, readItem } from './conversations/item-handlers.ts';
import { createCountHandler } from './counting/count.ts';
import { GEMINI_COUNT, MESSAGES_COUNT, RESPONSES_COUNT } from './counting/count-endpoint.ts';
import type { OpenDraft } from './drafts/open-draft.ts';
import { takesDrafts } from './drafts/takes-drafts.ts';
import { type FileService, fileHandlers } from './files/file-handlers.ts';
import { createGenerateHandler, type GenerateHandler } from './generate.ts';
import { createContentHandler } from './generate-content.ts';
import { createListGoogleModels, createReadGoogleModel } from './models/google-models.ts';
import { createListModels, createReadModel } from './models/models.ts';
import { createStoredHandler } from './stored/stored-response.ts';

type TextAppOptions = TextServices & {
  readonly acceptance: Acceptance;
  readonly batches: TextBatchService & FileService & { readonly publicUrl: string | undefined };
  readonly counting: Counting;
  readonly openDraft: OpenDraft;
  readonly service: Omit<ServiceAppOptions, 'service' | 'handlers'>;
};

const CONTENT_VERBS = [
  { verb: 'generateContent', streams: false },
  { verb: 'streamGenerateContent', streams: true },
] as const;

/** The text service: conversations under four protocols, counting them, and the list of models. */
export function createTextService({
  service,
  acceptance,
  batches,
  counting,
  openDraft,
  ...services
}: TextAppOptions): Service {
  const background = { ...acceptance, services };
  const counted = (endpoint: TextEndpoint, handle: GenerateHandler) =>
    countsWhereItReserves({ scope: endpoint.scope }, counting, handle);
  const generate = (endpoint: TextEndpoint) => counted(endpoint, createGenerateHandler(endpoint, services));
  const content = (base: string) => ({
    ...Object.fromEntries(
      CONTENT_VERBS.map(({ verb, streams }) => [
        `POST ${base}:${verb}`,
        countsWhereItReserves(
          { scope: 'gemini' },
          counting,
          createContentHandler({ path: `${base}:${verb}`, streams }, services),
        ),
      ]),
    ),
    [`POST ${base}:countTokens`]: createCountHandler(GEMINI_COUNT, services),
  });
  return createService({
    ...service,
    service: 'text',
    handlers: {
      'POST /v1/responses': counted(
        RESPONSES,
        takesDrafts(createGenerateHandler(RESPONSES, services, acceptance), { services, openDraft }),
      ),
      'GET /v1/responses/{id}': createReadHandler(
        background,
        createStoredHandler({ method: 'GET', subpath: '' }, services),
      ),
      'DELETE /v1/responses/{id}': createDeleteHandler(
        background,
        createStoredHandler({ method: 'DELETE', subpath: '' }, services),
      ),
      'POST /v1/responses/{id}/cancel': createCancelHandler(
        background,
        createStoredHandler({ method: 'POST', subpath: '/cancel' }, services),
      ),
      'GET /v1/responses/{id}/input_items': createStoredHandler(
        { method: 'GET', subpath: '/input_items' },
        services,
      ),
      'POST /v1/conversations': createConversation(services),
      'GET /v1/conversations/{id}': readConversation(services),
      'POST /v1/conversations/{id}': updateConversation(services),
      'DELETE /v1/conversations/{id}': deleteConversation(services),
      'POST /v1/conversations/{id}/items': addItems(services),
      'GET /v1/conversations/{id}/items': listItems(services),
      'GET /v1/conversations/{id}/items/{item_id}': readItem(services),
      'DELETE /v1/conversations/{id}/items/{item_id}': deleteItem(services),
      'POST /v1/messages': generate(MESSAGES),
      'POST /v1/messages/count_tokens': createCountHandler(MESSAGES_COUNT, services),
      'POST /v1/responses/compact': generate(COMPACT),
      'POST /v1/responses/input_tokens': createCountHandler(RESPONSES_COUNT, services),
      'POST /v1/chat/completions': generate(CHAT),
      'POST /v1/completions': generate(COMPLETIONS),
      ...content(GOOGLE_BASES[0]),
      ...content(GOOGLE_BASES[1]),
      ...fileHandlers(batches),
      ...openaiBatches(batches),
      ...messageBatches({ service: batches, publicUrl: batches.publicUrl }),
      'GET /v1beta/models': createListGoogleModels(services.upstream),
      'GET /v1beta/models/{id}': createReadGoogleModel(services.upstream),
      'GET /v1/models': createListModels(services.upstream, createListGoogleModels(services.upstream)),
      'GET /v1/models/{id}': createReadModel(services.upstream, createReadGoogleModel(services.upstream)),
    },
  });
}
