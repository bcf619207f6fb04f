import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';

/** The models of the configuration. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/models'))).data,
});
