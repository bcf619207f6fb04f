import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';

const REFRESH_MS = 10_000;

/** The configuration file as it is now, and whether it took effect. */
export const configurationQuery = queryOptions({
  queryKey: ['configuration'],
  queryFn: () => bodyOf(api.GET('/admin/v1/configuration')),
  refetchInterval: REFRESH_MS,
});
