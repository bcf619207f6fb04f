import { fitsPattern, renamed } from '@gateway/contracts/models/model-pattern';
import type { Price } from '@gateway/contracts/models/price';
import type { Candidate } from './candidate.ts';
import { type Affinity, type ChosenBy, orderCandidates } from './choosing/order-candidates.ts';
import type { RouteLoads } from './choosing/route-loads.ts';
import type { Configuration, Model, Route } from './configuration/configuration.ts';
import { dearer, dearestTools, KNOWN_MODELS, type KnownModels } from './prices/known-models.ts';
import { scaledPrice } from './prices/scaled-price.ts';
import { PROTOCOLS_OF_KIND, type Protocol } from './protocol.ts';

/** A model under the name that a caller used; its routes have no `*` in their names of it. */
export interface ResolvedModel extends Model {
  readonly name: string;
  /**
   * The configured price, else the highest price in the catalogue for this name at the model's channels; at its dearest route.
   * What is not known to be any route's is charged by it.
   */
  readonly price: Model['price'];
  /** What a route charges. */
  priceAt(route: Route): Model['price'];
  /** From the catalogue, for callers to read; the bound for requests is the configured one. */
  readonly knownContextWindow: number | null;
  /** The largest of its routes' windows, as the most input of a request; null where the catalogue does not have all of them. */
  readonly largestContextWindow: number | null;
}

export type { Affinity };

export interface CandidateQuery {
  readonly model: ResolvedModel;
  readonly protocol: Protocol;
  /** Protocols for routes without `protocol`, best first. Within one priority such routes come last. */
  readonly orElse?: readonly Protocol[];
  /** Further conditions, such as a built-in tool that the route must offer. */
  readonly requires?: (route: Route, protocol: Protocol) => boolean;
  /** Which candidate has the request's prompt in its cache; null: it does not matter. It is only called if there is a choice. */
  readonly affinity?: () => Affinity | null;
}

/** How one of several candidates is chosen. */
export interface Choosing {
  /** In [0, 1), as `Math.random`. */
  readonly random: () => number;
  readonly loads: Pick<RouteLoads, 'isLighter'>;
  /** Called if there was a choice. */
  readonly onPick?: (candidate: Candidate, by: ChosenBy) => void;
}

/** For a process that sends nothing. */
export const NO_LOADS: Choosing['loads'] = { isLighter: () => false };

export interface Catalog {
  /** The exact name first, else the most specific pattern: the longest text before its first `*`. Case counts. */
  resolveModel(name: string): ResolvedModel | null;
  /** As configured, patterns included, in the order of the file. */
  listModels(): readonly Model[];
  /**
   * The models that callers can be shown, in the same order: each name, and for a pattern the names that the price
   * catalogue has for it at the channels of its routes.
   */
  listNamedModels(): readonly ResolvedModel[];
  /**
   * The candidates for one request, best first: by priority, within one priority those of its own protocol, and among
   * those by `orderCandidates`.
   * Only channels with the protocol, or one of those given for others; empty if there are none.
   */
  candidates(query: CandidateQuery): readonly Candidate[];
}

const NO_OTHERS: readonly Protocol[] = [];
const MAX_CACHED_NAMES = 1_000;
const MAX_NAME_CHARS = 256;

/** In a provider's path such a name would lead to another one. */
const isDots = (name: string): boolean => name === '.' || name === '..';

interface Pattern {
  readonly model: Model;
  readonly prefixLength: number;
  readonly literalLength: number;
}

const toPattern = (model: Model): Pattern => ({
  model,
  prefixLength: model.pattern.indexOf('*'),
  literalLength: model.pattern.replaceAll('*', '').length,
});

const sortedCandidates = (model: ResolvedModel, protocols: readonly Protocol[]): readonly Candidate[] => {
  const [own] = protocols;
  return model.routes
    .flatMap((route): Candidate[] => {
      const usable = protocols.find(
        (protocol) => PROTOCOLS_OF_KIND[model.kind].includes(protocol) && route.speaks.includes(protocol),
      );
      if (usable === undefined) return [];
      const name = route.model ?? model.name;
      const { channel } = route;
      const weights = channel.accounts.reduce((sum, { weight }) => sum + weight, 0);
      return channel.accounts.map((account) => ({
        channel,
        account,
        route,
        protocol: usable,
        weight: (route.weight * account.weight) / weights,
        model: name,
        requestedModel: model.name,
      }));
    })
    .sort(
      (a, b) =>
        a.route.priority - b.route.priority || Number(a.protocol !== own) - Number(b.protocol !== own),
    );
};

/** Price and size of a model by its names at the channels; null if the catalogue has none of them. */
const knownFacts = ({ routes, kind }: Model, name: string, known: KnownModels) => {
  const found = routes.flatMap(({ channel, model }) => known.find(channel.provider, model ?? name) ?? []);
  const windows = found.flatMap(({ contextWindow }) => contextWindow ?? []);
  const price = found.reduce<Model['price']>((dearest, one) => dearer(dearest, one.price), null);
  return {
    price: price && kind === 'text' ? withTools(price, routes, known) : price,
    contextWindow: windows.length === 0 ? null : Math.min(...windows),
    largestContextWindow:
      windows.length === 0 || windows.length < routes.length ? null : Math.max(...windows),
  };
};

/** A price at each route of a model. */
function pricesOf(base: Model['price'], routes: readonly Route[]): Pick<ResolvedModel, 'price' | 'priceAt'> {
  const factors = new Set(routes.map(({ priceFactor }) => priceFactor));
  if (base === null || (factors.size === 1 && factors.has(1))) return { price: base, priceAt: () => base };
  const prices = new Map([...factors].map((factor) => [factor, scaledPrice(base, factor)]));
  const priceAt = ({ priceFactor }: Route) => prices.get(priceFactor) ?? scaledPrice(base, priceFactor);
  return { price: scaledPrice(base, Math.max(...factors)), priceAt };
}

/** Fees of tools are a provider's, whatever its model. */
function withTools(price: Price, routes: readonly Route[], known: KnownModels): Price {
  const tools = dearestTools(routes.map(({ channel }) => known.tools(channel.provider)));
  return Object.keys(tools).length === 0 ? price : { ...price, perThousandToolCalls: tools };
}

/** Names for a pattern: the catalogue's names for channels that get the caller's name, or a part of it. */
const namesOf = ({ pattern, routes, kind }: Model, known: KnownModels): readonly string[] => [
  ...new Set(
    routes.flatMap(({ model, channel: { provider } }) => {
      if (model === null) return known.list(provider, kind);
      if (!model.includes('*')) return [];
      const names = known.list(provider, kind).filter((name) => fitsPattern(model, name));
      return names.map((name) => renamed(name, model, pattern));
    }),
  ),
];

/** The routes of a model for one name of it; null if the name leaves nothing for the `*` of one, or what is no segment of a path. */
function routesFor({ pattern, routes }: Model, name: string): readonly Route[] | null {
  if (!routes.some(({ model }) => model?.includes('*'))) return routes;
  const named = routes.map((route) =>
    route.model?.includes('*') ? { ...route, model: renamed(name, pattern, route.model) } : route,
  );
  return named.some(({ model }) => model === '' || (model !== null && isDots(model))) ? null : named;
}

/** Names and channels of one configuration. */
export const createCatalog = (
  configuration: Configuration,
  { random, loads, onPick }: Choosing,
  known: KnownModels = KNOWN_MODELS,
): Catalog => {
  const resolved = new Map<string, ResolvedModel>();
  const prepared = new WeakMap<ResolvedModel, Map<string, readonly Candidate[]>>();
  const exact = new Map(configuration.models.filter((m) => !m.isPattern).map((m) => [m.pattern, m]));
  const patterns = configuration.models
    .filter((model) => model.isPattern)
    .map(toPattern)
    .sort((a, b) => b.prefixLength - a.prefixLength || b.literalLength - a.literalLength);

  const candidatesOf = (model: ResolvedModel, protocols: readonly Protocol[]): readonly Candidate[] => {
    let known = prepared.get(model);
    if (known === undefined) {
      known = new Map();
      prepared.set(model, known);
    }
    const key = protocols.length === 1 ? (protocols[0] ?? '') : protocols.join();
    const found = known.get(key) ?? sortedCandidates(model, protocols);
    known.set(key, found);
    return found;
  };

  const resolveModel = (name: string): ResolvedModel | null => {
    const cached = resolved.get(name);
    if (cached !== undefined) return cached;
    if (name.length > MAX_NAME_CHARS || isDots(name)) return null;
    const model =
      exact.get(name) ?? patterns.find((pattern) => fitsPattern(pattern.model.pattern, name))?.model;
    if (model === undefined) return null;
    const routes = routesFor(model, name);
    if (routes === null) return null;
    if (resolved.size >= MAX_CACHED_NAMES) resolved.clear();
    const facts = knownFacts({ ...model, routes }, name, known);
    const named = {
      ...model,
      name,
      routes,
      ...pricesOf(model.price ?? facts.price, routes),
      knownContextWindow: facts.contextWindow,
      largestContextWindow: facts.largestContextWindow,
    };
    resolved.set(name, named);
    return named;
  };

  return {
    resolveModel,
    listModels: () => configuration.models,
    listNamedModels: () =>
      configuration.models.flatMap((model) => {
        const names = model.isPattern ? namesOf(model, known) : [model.pattern];
        const named = names.flatMap((name) => resolveModel(name) ?? []);
        // Another entry may serve a name that fits this pattern too.
        return named.filter(({ pattern }) => pattern === model.pattern);
      }),
    candidates({ model, protocol, orElse = NO_OTHERS, requires, affinity }) {
      const all = candidatesOf(model, orElse.length === 0 ? [protocol] : [protocol, ...orElse]);
      const fitting = requires
        ? all.filter((candidate) => requires(candidate.route, candidate.protocol))
        : all;
      if (fitting.length < 2) return fitting;
      const { candidates, by } = orderCandidates({
        candidates: fitting,
        isSameRank: (one, other) =>
          one.route.priority === other.route.priority &&
          (one.protocol === protocol) === (other.protocol === protocol),
        affinity: affinity?.() ?? null,
        loads,
        random,
      });
      const [first] = candidates;
      if (first !== undefined && by !== null) onPick?.(first, by);
      return candidates;
    },
  };
};
