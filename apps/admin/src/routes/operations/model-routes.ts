import type { KeyStore } from '@gateway/metering/keys/key-store';
import { createCatalog, NO_LOADS } from '@gateway/upstream/catalog';
import type { Configuration, Model, Route } from '@gateway/upstream/configuration/configuration';
import { PROTOCOLS_OF_KIND } from '@gateway/upstream/protocol';
import type { z } from 'zod';
import { patternsOverlap } from '../../../../../packages/contracts/src/models/model-pattern.ts';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { ModelPage, type ModelReply } from '../../api/schemas/operations.ts';
import { configurationOf, type ReadConfiguration } from '../../configuration/read-configuration.ts';

type ShownModel = z.infer<typeof ModelReply>;

/** The models that callers can use: each name, and what a pattern leads to by the price catalogue. */
export const modelRoutes = ({
  readConfiguration,
  keys,
}: {
  readConfiguration: ReadConfiguration;
  keys: Pick<KeyStore, 'getKey'>;
}): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/models',
    summary: 'The models of the configuration with their routes, protocols and prices, and what is unpriced',
    query: NO_QUERY,
    body: NO_BODY,
    reply: ModelPage,
    handle: async ({ principal: { scope } }) => {
      const models = shownModels(await configurationOf(readConfiguration));
      if (scope.kind !== 'key') return { data: models, next: null };
      const patterns = (await keys.getKey(scope.keyId))?.models ?? null;
      return { data: models.filter(mayBeUsedWith(patterns)).map(withoutRoutes), next: null };
    },
  }),
];

/** Where a pattern stands in the place of names that are not known, the key may use some of them. */
const mayBeUsedWith =
  (patterns: readonly string[] | null) =>
  ({ name }: ShownModel): boolean =>
    patterns === null || patterns.some((pattern) => patternsOverlap(name, pattern));

/** Who serves a model is not for those who only use it. */
const withoutRoutes = (model: ShownModel): ShownModel => ({ ...model, pattern: model.name, routes: [] });

function shownModels(configuration: Configuration): ShownModel[] {
  const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
  const configured = new Map(configuration.models.map((model) => [model.pattern, model]));
  const named = catalog.listNamedModels();
  const resolved = named.map((model) => {
    const ownPrice = configured.get(model.pattern)?.price ?? null;
    return shown(model, {
      name: model.name,
      priceFrom: model.price === null ? null : ownPrice === null ? 'catalogue' : 'configuration',
      contextWindow: model.contextWindow ?? model.knownContextWindow,
    });
  });
  const known = new Set(named.map(({ pattern }) => pattern));
  // What such a pattern leads to is known when a caller uses a name.
  const unnamed = catalog
    .listModels()
    .filter(({ pattern }) => !known.has(pattern))
    .map((model) =>
      shown(model, {
        name: model.pattern,
        priceFrom: model.price === null ? null : 'configuration',
        contextWindow: model.contextWindow,
      }),
    );
  return [...resolved, ...unnamed];
}

const shown = (
  model: Model,
  facts: Pick<ShownModel, 'name' | 'priceFrom' | 'contextWindow'>,
): ShownModel => ({
  ...facts,
  pattern: model.pattern,
  kind: model.kind,
  family: typeof model.family === 'string' ? model.family : null,
  price: model.price,
  maxOutputTokens: model.maxOutputTokens,
  routes: model.routes.map((route) => shownRoute(route, model)),
});

const shownRoute = (
  { channel, speaks, model: ownName, priceFactor, priority, weight, builtInTools }: Route,
  { kind }: Model,
) => ({
  channel: channel.name,
  model: ownName,
  priceFactor,
  priority,
  weight,
  protocols: PROTOCOLS_OF_KIND[kind].filter((protocol) => speaks.includes(protocol)),
  builtInTools: builtInTools === 'any' ? null : [...builtInTools],
});
