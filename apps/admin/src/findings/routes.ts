import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { Configuration, Model } from '@gateway/upstream/configuration/configuration';
import { listed, named } from './wording.ts';

/** What of a channel: all of it, or one of its models by the channel's own name. */
export interface PartOfChannel {
  readonly channel: string;
  /** Null: all of its models. */
  readonly model: string | null;
}

const isOver = ({ pattern, routes }: Model, { channel, model }: PartOfChannel): boolean =>
  routes.some(
    (route) => route.channel.name === channel && (model === null || (route.model ?? pattern) === model),
  );

/** The entries of the configuration that have a route over this part of a channel. */
export const modelsOver = (configuration: Configuration | undefined, part: PartOfChannel): readonly Model[] =>
  configuration?.models.filter((model) => isOver(model, part)) ?? [];

/** The other channels of a model. */
export const otherChannels = ({ routes }: Model, channel: string): string[] => [
  ...new Set(routes.map((route) => route.channel.name).filter((name) => name !== channel)),
];

/** The entry that a caller's name of a model leads to. */
export const entryOf = (configuration: Configuration | undefined, name: string): Model | undefined =>
  configuration?.models.find(({ pattern }) => pattern === name) ??
  configuration?.models.find(({ pattern }) => fitsPattern(pattern, name));

/** Which models a part of a channel serves, and which of them nothing else serves. */
export function affectedModels(
  configuration: Configuration | undefined,
  part: PartOfChannel,
): { readonly models: string[]; readonly stuck: string[]; readonly text: string | null } {
  const over = modelsOver(configuration, part);
  const models = over.map(({ pattern }) => pattern);
  const stuck = over
    .filter((model) => otherChannels(model, part.channel).length === 0)
    .map(({ pattern }) => pattern);
  if (models.length === 0) return { models, stuck, text: null };
  const other =
    stuck.length === 0
      ? 'all have another route'
      : stuck.length === models.length
        ? `no other route`
        : `no other route for ${listed(stuck)}`;
  return {
    models,
    stuck,
    text: `${named('model', models)}; ${models.length === 1 && stuck.length === 0 ? 'it has another route' : other}`,
  };
}
