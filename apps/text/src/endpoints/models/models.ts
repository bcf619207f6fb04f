import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Handler, parsedQuery, sendJson } from '@gateway/service-kit/request/handler';
import { identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { mayUse } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import { z } from 'zod';
import { modelEntry } from './model-entry.ts';

const MAX_LIMIT = 1000;

const Stages = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.enum(['active', 'deprecated', 'retired'])).optional(),
);

const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).optional(),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
  lifecycle: Stages,
  /** As Anthropic's clients write a list. */
  'lifecycle[]': Stages,
});
type ListQuery = z.infer<typeof ListQuery>;

/** The page of a list that the Messages protocol's clients request. @throws {GatewayError} for a limit out of range */
export const readListQuery = (query: unknown): ListQuery => validate(ListQuery, query);

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Whether there are more in the requested direction. */
  readonly hasMore: boolean;
}

/** Without a limit the page is everything, as OpenAI's clients expect; an id that is not there is no bound. */
export function pageOf<Entry extends { readonly id: string }>(
  listed: readonly Entry[],
  { limit = MAX_LIMIT, after_id: after, before_id: before, ...query }: ListQuery,
): Page<Entry> {
  const stages = query.lifecycle ?? query['lifecycle[]'] ?? [];
  // Every model here is active.
  const all = stages.length === 0 || stages.includes('active') ? listed : [];
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const bound = before === undefined ? -1 : all.findIndex(({ id }) => id === before);
  const within = all.slice(start, bound < 0 ? all.length : bound);
  const entries = bound < 0 ? within.slice(0, limit) : within.slice(-limit);
  return { entries, hasMore: within.length > entries.length };
}

/** Google's clients call the same path, and name themselves. */
const isGoogles = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['x-goog-api-client'] !== undefined;

/**
 * Handles `GET /v1/models`: the models that the key may use, in the order of the configuration. A pattern means
 * the names that the price catalogue knows of it; others can be read one by one.
 */
export const createListModels =
  (upstream: Pick<Upstream, 'listNamedModels'>, forGoogle: Handler): Handler =>
  (request, response, params) => {
    if (isGoogles(request)) return forGoogle(request, response, params);
    const identity = identityOf(request);
    const all = upstream
      .listNamedModels()
      .filter(({ name }) => mayUse(identity, name))
      .map((model) => modelEntry(model, identity));
    const { entries, hasMore } = pageOf(all, readListQuery(parsedQuery(request)));
    sendJson(response, {
      object: 'list',
      data: entries,
      has_more: hasMore,
      first_id: entries.at(0)?.id ?? null,
      last_id: entries.at(-1)?.id ?? null,
    });
  };

/** Handles `GET /v1/models/{id}`. A model that the key may not use answers as if it did not exist. */
export const createReadModel =
  (upstream: Pick<Upstream, 'resolveModel'>, forGoogle: Handler): Handler =>
  (request, response, params) => {
    if (isGoogles(request)) return forGoogle(request, response, params);
    const identity = identityOf(request);
    const id = String(params.id);
    const model = mayUse(identity, id) ? upstream.resolveModel(id) : null;
    if (model === null) {
      throw new GatewayError('model_not_found', {
        path: ['model'],
        message: `The model '${id}' does not exist or you do not have access to it.`,
      });
    }
    sendJson(response, modelEntry(model, identity));
  };
