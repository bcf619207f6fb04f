import { fitsPattern, renamed } from '@gateway/contracts/models/model-pattern';
import type { Price } from '@gateway/contracts/models/price';
import type { ChannelEntry, ModelEntry, RouteEntry } from '@gateway/upstream/configuration/file-schema';
import { PROTOCOLS_OF_KIND } from '@gateway/upstream/protocol';
import { nameChannels } from './channel-names.ts';
import { type Reached, reach } from './channel-of.ts';
import { type KnownDeployment, readDeployments } from './deployments.ts';
import type { LitellmFile } from './litellm-file.ts';
import type { Note, TakeNote } from './notes.ts';
import { factorOf, PRICE_MEMBERS, priceOf } from './prices.ts';
import { reasonFor } from './reasons.ts';
import { type RouterRules, readRouterRules } from './router-rules.ts';
import { OF_INFO, OF_PARAMS } from './unsupported.ts';

/** A configuration of ours from LiteLLM's, and what of it is not the same. */
export interface Imported {
  readonly channels: Readonly<Record<string, ChannelEntry>>;
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly notes: readonly Note[];
}

/** A deployment, and where it is reached. */
interface Target extends Reached {
  readonly deployment: KnownDeployment;
  /** Its share of the requests of its model; null: it is not said. */
  readonly weight: number | null;
}

/** Targets of one model that are one route: the same model at the same address, by one or more keys. */
interface Way {
  readonly targets: readonly [Target, ...Target[]];
  readonly channel: ChannelEntry;
}

export function convert(file: LitellmFile): Imported {
  const notes: Note[] = [];
  const note: TakeNote = (outcome, place, text) => notes.push({ outcome, place, text });
  const rules = readRouterRules(file, note);
  const targets = readDeployments(file, note).flatMap((deployment) => {
    const reached = reach(deployment, note);
    if (reached === null) return [];
    noteTheRest(deployment, reached.used, note);
    return [{ ...reached, deployment, weight: weightOf(deployment, note) }];
  });
  const ways = new Map(
    [...Map.groupBy(ofOneKind(targets, note), ({ deployment: { name } }) => name)].map(
      ([name, of]) => [name, waysOf(of)] as const,
    ),
  );
  const named = nameChannels(
    [...ways.values()]
      .flat()
      .map(({ targets: [first], channel }) => ({ channel, prefix: first.deployment.prefix })),
  );
  const channels = Object.fromEntries(
    [...named].map(([name, channel]) => [name, withSpeaks(channel, ways, rules)]),
  );
  const nameOf = (channel: ChannelEntry): string =>
    [...named].find(([, one]) => JSON.stringify(one) === JSON.stringify(channel))?.[0] ?? '';
  const own = new Map([...ways].map(([name, of]) => [name, modelOf(name, of, nameOf, rules, note)]));
  return { channels, models: Object.fromEntries(withOthers(own, rules, note)), notes };
}

/** A model is of one kind: that of its first deployment. */
function ofOneKind(targets: readonly Target[], note: TakeNote): readonly Target[] {
  const kinds = new Map<string, string>();
  return targets.filter(({ deployment: { name, kind, place } }) => {
    const first = kinds.get(name) ?? kind;
    kinds.set(name, first);
    if (first !== kind)
      note(
        'left',
        place,
        `'${name}' is a model of the kind ${first} by its first deployment, and this one is of the kind ${kind}.`,
      );
    return first === kind;
  });
}

function noteTheRest({ place, params, info }: KnownDeployment, used: readonly string[], note: TakeNote) {
  const weights = params.weight ? [] : ['rpm', 'tpm'];
  for (const [name, value] of Object.entries(params))
    if (
      !weights.includes(name) &&
      value !== null &&
      value !== undefined &&
      !used.includes(name) &&
      !PRICE_MEMBERS.includes(name)
    )
      note('left', `${place}.litellm_params.${name}`, reasonFor(OF_PARAMS, name));
  const carriedOver = ['mode', 'max_input_tokens', 'max_output_tokens', ...PRICE_MEMBERS];
  for (const [name, value] of Object.entries(info))
    if (value !== null && value !== undefined && !carriedOver.includes(name))
      note('left', `${place}.model_info.${name}`, reasonFor(OF_INFO, name));
}

const MAX_WEIGHT = 1_000_000;

/** LiteLLM's simple shuffle takes the weight, else the requests, else the tokens per minute for the share. */
function weightOf({ place, params: { weight, rpm, tpm } }: KnownDeployment, note: TakeNote): number | null {
  const given = weight ?? rpm ?? tpm ?? null;
  if (weight === null || weight === undefined)
    for (const [name, value] of Object.entries({ rpm, tpm }))
      if (value)
        note(
          'changed',
          `${place}.litellm_params.${name}`,
          'It is the weight of the route, as it is with simple-shuffle; it limits nothing.',
        );
  return given === null || given <= 0 ? null : Math.min(given, MAX_WEIGHT);
}

/** Targets of one model at one address under one name, and the same settings: one route, with an account for each of their keys. */
function waysOf(targets: readonly Target[]): readonly Way[] {
  const same = Map.groupBy(targets, ({ channel, route, deployment: { params } }) =>
    JSON.stringify([channel, route, params.order ?? null]),
  );
  return [...same.values()].flatMap(([first, ...rest]) => {
    if (first === undefined) return [];
    const all = [first, ...rest] as const;
    const keys = new Map<string, number | null>();
    for (const { key, weight } of all) if (key !== null) keys.set(key, weight);
    return [{ targets: all, channel: { ...first.channel, ...keysOf(keys) } }];
  });
}

function keysOf(keys: ReadonlyMap<string, number | null>): Pick<ChannelEntry, 'apiKey' | 'apiKeys'> {
  const [first, ...rest] = [...keys];
  if (first === undefined) return {};
  if (rest.length === 0) return { apiKey: first[0] };
  return {
    apiKeys: Object.fromEntries(
      [first, ...rest].map(([apiKey, weight], index) => [
        accountName(apiKey, index),
        weight === null ? apiKey : { apiKey, weight },
      ]),
    ),
  };
}

/** By its variable, never by the key. */
function accountName(key: string, index: number): string {
  const [, name] = /^\$\{([A-Za-z][A-Za-z0-9_]{0,62})\}$/.exec(key) ?? [];
  return name === undefined ? `key-${index + 1}` : name.toLowerCase().replaceAll('_', '-');
}

/** What all channels get from the router's settings, and those of other makers' servers the protocols of their models. */
function withSpeaks(
  channel: ChannelEntry,
  ways: ReadonlyMap<string, readonly Way[]>,
  { cooldown, totalMs }: RouterRules,
): ChannelEntry {
  const kinds = new Set(
    [...ways.values()]
      .flat()
      .filter((way) => JSON.stringify(way.channel) === JSON.stringify(channel))
      .map(({ targets: [{ deployment }] }) => deployment.kind),
  );
  const protocols = [...kinds].flatMap((kind) =>
    kind === 'text' ? ['chat' as const] : PROTOCOLS_OF_KIND[kind],
  );
  const needs = channel.provider === 'openai-compatible' && protocols.some((protocol) => protocol !== 'chat');
  const timeouts = totalMs === null ? channel.timeouts : { totalMs, ...channel.timeouts };
  return {
    ...channel,
    ...(needs ? { speaks: protocols } : {}),
    ...(timeouts ? { timeouts } : {}),
    ...(cooldown === null ? {} : { cooldown }),
  };
}

/** Those without an order are used after all others. */
function priorityOf(
  { params: { order } }: KnownDeployment,
  all: readonly KnownDeployment[],
): number | undefined {
  const orders = all.flatMap((one) => one.params.order ?? []);
  if (orders.length === 0) return undefined;
  return Math.min(1000, Math.max(0, Math.round(order ?? Math.max(...orders) + 1)));
}

function modelOf(
  name: string,
  ways: readonly Way[],
  nameOf: (channel: ChannelEntry) => string,
  { maxAttempts }: RouterRules,
  note: TakeNote,
): ModelEntry {
  const targets = ways.flatMap((way) => way.targets);
  const deployments = targets.map(({ deployment }) => deployment);
  const prices = ways.map(({ targets: [{ deployment }] }) => priceOf(deployment));
  const { price, factors } = pricesOf(name, prices, note);
  const routes = ways.map(({ targets: all, channel }, index): RouteEntry => {
    const [{ route, deployment }] = all;
    const weights = all.map(({ weight }) => weight);
    const weight = weights.some((one) => one !== null)
      ? weights.reduce<number>((sum, one) => sum + (one ?? 1), 0)
      : all.length;
    const priority = priorityOf(deployment, deployments);
    const factor = factors[index] ?? 1;
    const isCallersName = route.model === name || (route.model === '*' && name === '*');
    return {
      channel: nameOf(channel),
      ...(isCallersName ? {} : { model: route.model }),
      ...(route.speaks ? { speaks: route.speaks } : {}),
      ...(priority === undefined ? {} : { priority }),
      ...(ways.length > 1 && weight !== 1 ? { weight: Math.min(weight, MAX_WEIGHT) } : {}),
      ...(factor === 1 ? {} : { priceFactor: factor }),
    };
  });
  const [first] = deployments;
  const window = smallest(deployments.map(({ info }) => info.max_input_tokens));
  const output = smallest(deployments.map(({ info }) => info.max_output_tokens));
  const isText = first?.kind === 'text';
  return {
    kind: first?.kind ?? 'text',
    routes,
    ...(isText && window !== null ? { contextWindow: window } : {}),
    ...(isText && output !== null ? { maxOutputTokens: output } : {}),
    ...(price === null ? {} : { price }),
    ...(maxAttempts === null ? {} : { fallback: { maxAttempts: Math.min(100, maxAttempts) } }),
  };
}

const smallest = (numbers: readonly (number | null | undefined)[]): number | null => {
  const known = numbers.flatMap((number) => number ?? []);
  return known.length === 0 ? null : Math.max(1, Math.round(Math.min(...known)));
};

/** Routes differ in price by a factor; where they differ otherwise, the first price holds. */
function pricesOf(name: string, prices: readonly (Price | null)[], note: TakeNote) {
  const known = prices.filter((price) => price !== null);
  const [base = null] = known;
  if (base === null) return { price: null, factors: [] };
  const factors = prices.map((price) => (price === null ? 1 : factorOf(base, price)));
  if (known.length < prices.length || factors.includes(null))
    note(
      'todo',
      `model_list: ${name}`,
      'The prices of its deployments differ by no common factor: the first holds for all.',
    );
  return { price: base, factors };
}

/** The models, with what is appended from others, and other names of them. */
function withOthers(own: ReadonlyMap<string, ModelEntry>, rules: RouterRules, note: TakeNote) {
  const all = new Map<string, ModelEntry>();
  for (const [name, model] of own) {
    const wanted = [
      ...rules.fallbacks,
      ...rules.defaults.map((models) => ['*', models, 'default_fallbacks'] as const),
    ]
      .filter(([from]) => from === name || from === '*')
      .flatMap(([, models]) => models);
    const routes = [...model.routes];
    for (const other of new Set(wanted)) {
      if (other === name) continue;
      const more = routesOf(own, other, model.kind);
      const last = Math.max(...routes.map(({ priority = 0 }) => priority));
      for (const route of more ?? []) {
        const is = ({ channel, model: one }: RouteEntry) =>
          channel === route.channel && (one ?? name) === (route.model ?? other);
        if (!routes.some(is))
          routes.push({ ...route, priority: Math.min(1000, last + 1 + (route.priority ?? 0)) });
      }
    }
    const { fallback } = model;
    const extra = routes.length - model.routes.length;
    const maxAttempts =
      fallback?.maxAttempts === undefined ? null : Math.min(100, fallback.maxAttempts + extra);
    all.set(name, { ...model, routes, ...(maxAttempts === null ? {} : { fallback: { maxAttempts } }) });
  }
  for (const [from, models, place] of rules.fallbacks) {
    if (from !== '*' && !own.has(from)) note('left', place, `There is no model '${from}' in the new file.`);
    for (const other of models)
      if (routesOf(own, other, null) === null)
        note('left', place, `There is no model '${other}' in the new file.`);
  }
  for (const [alias, model, place] of rules.aliases) {
    const entry = all.get(model);
    if (entry === undefined) note('left', place, `There is no model '${model}' in the new file.`);
    else if (all.has(alias))
      note('left', place, `There is a model '${alias}' in the file too, which is used.`);
    else
      all.set(alias, {
        ...entry,
        routes: entry.routes.map((route) => ({ ...route, model: route.model ?? model })),
      });
  }
  return all;
}

/** The routes of a model as those of another one; null if it is not there, and none if it is of another kind. */
function routesOf(
  models: ReadonlyMap<string, ModelEntry>,
  name: string,
  kind: string | null,
): readonly RouteEntry[] | null {
  const pattern = models.has(name) ? name : [...models.keys()].find((one) => fitsPattern(one, name));
  const found = pattern === undefined ? undefined : models.get(pattern);
  if (pattern === undefined || found === undefined) return null;
  if (kind !== null && found.kind !== kind) return [];
  return found.routes.map(({ model = pattern, priceFactor: _, ...route }) => ({
    ...route,
    model: name === pattern ? model : renamed(name, pattern, model),
  }));
}
