import { ProviderError } from '../replies/provider-error.ts';
import type { Handler } from './call.ts';
import { ROUTE_TABLE, type Route } from './route-table.ts';

export interface FoundRoute {
  readonly handler: Handler;
  readonly params: readonly string[];
  readonly needsKey: boolean;
}

const exact = new Map<string, FoundRoute>();
const patterns: { method: string; pattern: RegExp; route: Route }[] = [];
for (const route of ROUTE_TABLE) {
  if (route.path.includes('{id}')) {
    const pattern = new RegExp(`^${route.path.replaceAll('{id}', '([^/]+)')}$`);
    patterns.push({ method: route.method, pattern, route });
  } else {
    const { handler, needsKey = true } = route;
    exact.set(`${route.method} ${route.path}`, { handler, params: [], needsKey });
  }
}

/** Azure's newer form of the same paths. */
const AZURE_PREFIX = '/openai/v1/';
const normalised = (path: string): string =>
  path.startsWith(AZURE_PREFIX) ? path.slice('/openai'.length) : path;

/** @throws ProviderError 404 for an unknown path, 405 for a known one with another method */
export const findRoute = (method: string, receivedPath: string): FoundRoute => {
  const path = normalised(receivedPath);
  const found = exact.get(`${method} ${path}`);
  if (found) return found;
  let known = ROUTE_TABLE.some((route) => route.path === path);
  for (const { method: own, pattern, route } of patterns) {
    const match = pattern.exec(path);
    if (!match) continue;
    known = true;
    if (own === method) {
      return { handler: route.handler, params: match.slice(1), needsKey: route.needsKey ?? true };
    }
  }
  if (known) throw new ProviderError({ status: 405, message: `Not allowed to ${method} on ${path}.` });
  throw new ProviderError({ status: 404, message: `Invalid URL (${method} ${path})` });
};
