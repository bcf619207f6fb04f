import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Handler, parsedQuery, sendJson } from '@gateway/service-kit/request/handler';
import { identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { mayUse } from '@gateway/upstream/model-for';
import type { ModelKind } from '@gateway/upstream/protocol';
import type { Upstream } from '@gateway/upstream/upstream';
import { z } from 'zod';

const MAX_PAGE_SIZE = 1000;

const ListQuery = z.object({
  pageSize: z.coerce.number().int().min(1).max(MAX_PAGE_SIZE).optional(),
  pageToken: z.string().optional(),
});

/** What Google's clients can do with a model of each kind that they see. */
const METHODS: Readonly<Partial<Record<ModelKind, readonly string[]>>> = {
  text: ['generateContent', 'countTokens'],
  embedding: ['embedContent', 'batchEmbedContents'],
};

/** A model as Google's clients read one; what the gateway does not know is left out. */
function googleEntry({ name, kind, contextWindow, knownContextWindow, maxOutputTokens }: ResolvedModel) {
  const inputTokenLimit = contextWindow ?? knownContextWindow;
  return {
    name: `models/${name}`,
    version: '001',
    displayName: name,
    ...(inputTokenLimit !== null && { inputTokenLimit }),
    ...(maxOutputTokens !== null && { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: METHODS[kind],
  };
}

/** Handles `GET /v1beta/models`: the models that the key may use and Google's clients can call. A page's token is the name of its last model. */
export const createListGoogleModels =
  (upstream: Pick<Upstream, 'listNamedModels'>): Handler =>
  (request, response) => {
    const identity = identityOf(request);
    const { pageSize = MAX_PAGE_SIZE, pageToken } = validate(ListQuery, parsedQuery(request));
    const all = upstream
      .listNamedModels()
      .filter(({ name, kind }) => METHODS[kind] !== undefined && mayUse(identity, name));
    const start = pageToken === undefined ? 0 : all.findIndex(({ name }) => name === pageToken) + 1;
    const page = all.slice(start, start + pageSize);
    const last = page.at(-1);
    const hasMore = last !== undefined && start + page.length < all.length;
    sendJson(response, { models: page.map(googleEntry), ...(hasMore && { nextPageToken: last.name }) });
  };

/** Handles `GET /v1beta/models/{id}`. A model that the key may not use answers as if it did not exist. */
export const createReadGoogleModel =
  (upstream: Pick<Upstream, 'resolveModel'>): Handler =>
  (request, response, params) => {
    const id = String(params.id);
    const model = mayUse(identityOf(request), id) ? upstream.resolveModel(id) : null;
    if (model === null || METHODS[model.kind] === undefined)
      throw new GatewayError('model_not_found', {
        path: ['model'],
        message: `The model '${id}' does not exist or you do not have access to it.`,
      });
    sendJson(response, googleEntry(model));
  };
