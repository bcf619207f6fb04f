import type { Price } from '@gateway/contracts/models/price';
import { createCatalog, NO_LOADS, type ResolvedModel } from '@gateway/upstream/catalog';
import type { Configuration, Route } from '@gateway/upstream/configuration/configuration';
import { PROTOCOLS_OF_KIND } from '@gateway/upstream/protocol';

/** Requests whose costs are alike: for one model, by one endpoint. */
export interface Requested {
  readonly model: string;
  readonly endpoint: string;
}

/** A way to a model, what it charges, and how much of these requests it gets first. */
export interface SheetRoute {
  readonly channel: string;
  readonly model: string | null;
  /** Null: no price is known. */
  readonly price: Price | null;
  /** Of the requests, from 0 to 1, by priority, protocol and weight. 0: only after failures. */
  readonly share: number;
}

/** The routes of some requests; null: the model is not served. */
export type PriceSheet = readonly SheetRoute[] | null;

/** What requests meet in a configuration, in their order. */
export function priceSheets(configuration: Configuration, all: readonly Requested[]): PriceSheet[] {
  const catalog = createCatalog(configuration, { random: () => 0, loads: NO_LOADS });
  return all.map(({ model, endpoint }) => {
    const resolved = catalog.resolveModel(model);
    return resolved && sheetOf(resolved, endpoint);
  });
}

/** The rank by which a request chooses among routes: by priority, then those that speak its own protocol. */
function sheetOf(model: ResolvedModel, endpoint: string): SheetRoute[] {
  const routes = model.routes.filter((route) =>
    PROTOCOLS_OF_KIND[model.kind].some((protocol) => route.speaks.includes(protocol)),
  );
  const isTranslated = ({ speaks }: Route): boolean => !speaks.some((protocol) => protocol === endpoint);
  const rankOf = (route: Route): number => 2 * route.priority + Number(isTranslated(route));
  const first = Math.min(...routes.map(rankOf));
  const weights = routes.reduce((sum, route) => sum + (rankOf(route) === first ? route.weight : 0), 0);
  return routes.map((route) => ({
    channel: route.channel.name,
    model: route.model,
    price: model.priceAt(route),
    share: rankOf(route) === first ? route.weight / weights : 0,
  }));
}
