import type { Channel, Configuration, Model, Route } from './configuration/configuration.ts';
import { fitsPattern } from './name-pattern.ts';
import { PROTOCOLS_OF_KIND, type Protocol } from './protocol.ts';

/** A model under the name that a caller used. */
export interface ResolvedModel extends Model {
  readonly name: string;
}

/** One channel that may serve a request, with what to ask it for. */
export interface Candidate {
  readonly channel: Channel;
  readonly route: Route;
  readonly protocol: Protocol;
  /** The model's name at the channel: what belongs in the body. */
  readonly model: string;
  /** The name that the caller used. */
  readonly requestedModel: string;
}

export interface CandidateQuery {
  readonly model: ResolvedModel;
  readonly protocol: Protocol;
  /** Further conditions, such as a built-in tool that the route must offer. */
  readonly requires?: (route: Route) => boolean;
}

export interface Catalog {
  /** The exact name first, else the most specific pattern: the longest text before its first `*`. Case counts. */
  resolveModel(name: string): ResolvedModel | null;
  /** As configured, patterns included, in the order of the file. */
  listModels(): readonly Model[];
  /**
   * The channels for one request, best first: by priority, and within one priority at random by weight.
   * Only channels that speak the protocol; empty if there are none.
   */
  candidates(query: CandidateQuery): readonly Candidate[];
}

const MAX_REMEMBERED_NAMES = 1_000;
const MAX_NAME_CHARS = 256;

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

/** Orders routes of one priority: each next one drawn with a chance in proportion to its weight. */
const drawByWeight = (routes: readonly Candidate[], random: () => number): readonly Candidate[] => {
  const left = [...routes];
  const drawn: Candidate[] = [];
  while (left.length > 1) {
    let point = random() * left.reduce((sum, { route }) => sum + route.weight, 0);
    let index = 0;
    for (; index < left.length - 1; index += 1) {
      point -= left[index]?.route.weight ?? 0;
      if (point < 0) break;
    }
    drawn.push(...left.splice(index, 1));
  }
  return [...drawn, ...left];
};

/** Groups candidates that are sorted by priority. */
const byPriority = (sorted: readonly Candidate[]): readonly (readonly Candidate[])[] => {
  const groups: Candidate[][] = [];
  for (const candidate of sorted) {
    const last = groups.at(-1);
    if (last?.[0]?.route.priority === candidate.route.priority) last.push(candidate);
    else groups.push([candidate]);
  }
  return groups;
};

const sortedCandidates = (model: ResolvedModel, protocol: Protocol): readonly Candidate[] =>
  PROTOCOLS_OF_KIND[model.kind].includes(protocol)
    ? model.routes
        .filter(({ channel }) => channel.speaks.includes(protocol))
        .map((route) => ({
          channel: route.channel,
          route,
          protocol,
          model: route.model ?? model.name,
          requestedModel: model.name,
        }))
        .sort((a, b) => a.route.priority - b.route.priority)
    : [];

/** Names and channels of one configuration. `random` is in [0, 1), as `Math.random`. */
export const createCatalog = (configuration: Configuration, random: () => number): Catalog => {
  const resolved = new Map<string, ResolvedModel>();
  const prepared = new WeakMap<ResolvedModel, Partial<Record<Protocol, readonly Candidate[]>>>();
  const exact = new Map(configuration.models.filter((m) => !m.isPattern).map((m) => [m.pattern, m]));
  const patterns = configuration.models
    .filter((model) => model.isPattern)
    .map(toPattern)
    .sort((a, b) => b.prefixLength - a.prefixLength || b.literalLength - a.literalLength);

  const candidatesOf = (model: ResolvedModel, protocol: Protocol): readonly Candidate[] => {
    let perProtocol = prepared.get(model);
    if (perProtocol === undefined) {
      perProtocol = {};
      prepared.set(model, perProtocol);
    }
    const known = perProtocol[protocol];
    if (known !== undefined) return known;
    const fresh = sortedCandidates(model, protocol);
    perProtocol[protocol] = fresh;
    return fresh;
  };

  return {
    resolveModel(name) {
      const known = resolved.get(name);
      if (known !== undefined) return known;
      if (name.length > MAX_NAME_CHARS) return null;
      const model =
        exact.get(name) ?? patterns.find((pattern) => fitsPattern(pattern.model.pattern, name))?.model;
      if (model === undefined) return null;
      if (resolved.size >= MAX_REMEMBERED_NAMES) resolved.clear();
      const named = { ...model, name };
      resolved.set(name, named);
      return named;
    },
    listModels: () => configuration.models,
    candidates({ model, protocol, requires }) {
      const all = candidatesOf(model, protocol);
      const fitting = requires ? all.filter(({ route }) => requires(route)) : all;
      if (fitting.length < 2) return fitting;
      return byPriority(fitting).flatMap((group) => drawByWeight(group, random));
    },
  };
};
