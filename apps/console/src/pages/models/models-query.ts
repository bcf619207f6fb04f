import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { Model } from '../../api/types.ts';

/** The models of the configuration. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/models'))).data,
});

/** The entry that a name leads to: of this name, or else the pattern that says most of it. */
export const entryOf = (models: readonly Model[], name: string): Model | undefined =>
  models.find((model) => model.name === name) ??
  models
    .filter(({ pattern }) => fitsPattern(pattern, name))
    .toSorted((a, b) => b.pattern.length - a.pattern.length)
    .at(0);
