import { GatewayError } from '@gateway/contracts/gateway-error';
import { identityOf } from '@gateway/service-kit/request-context';
import { mayUse } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import type { RequestHandler } from 'express';
import { pageOf, readListQuery } from './list-query.ts';
import { modelEntry } from './model-entry.ts';

/**
 * Handles `GET /v1/models`: the models that the key may use, in the order of the configuration. A pattern stands for
 * the names that the price catalogue knows of it; others can be asked for one by one.
 */
export const createListModels =
  (upstream: Pick<Upstream, 'listNamedModels'>): RequestHandler =>
  (request, response) => {
    const identity = identityOf(request);
    const all = upstream
      .listNamedModels()
      .filter(({ name }) => mayUse(identity, name))
      .map((model) => modelEntry(model, identity));
    const { entries, hasMore } = pageOf(all, readListQuery(request.query));
    response.json({
      object: 'list',
      data: entries,
      has_more: hasMore,
      first_id: entries.at(0)?.id ?? null,
      last_id: entries.at(-1)?.id ?? null,
    });
  };

/** Handles `GET /v1/models/{id}`. A model that the key may not use answers as if it did not exist. */
export const createReadModel =
  (upstream: Pick<Upstream, 'resolveModel'>): RequestHandler =>
  (request, response) => {
    const identity = identityOf(request);
    const id = String(request.params.id);
    const model = mayUse(identity, id) ? upstream.resolveModel(id) : null;
    if (model === null) {
      throw new GatewayError('model_not_found', {
        path: ['model'],
        message: `The model '${id}' does not exist or you do not have access to it.`,
      });
    }
    response.json(modelEntry(model, identity));
  };
