import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../../api/client.ts';

/** The kinds of providers that there are. */
export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/configuration/providers'))).data,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The model servers that answer on the machine of the gateway. */
export const serversQuery = queryOptions({
  queryKey: ['model-servers'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/configuration/model-servers'))).data,
});
