import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';

const REFRESH_MS = 5_000;

/** The configured channels, and what is resting in them now. */
export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/channels'))).data,
  refetchInterval: REFRESH_MS,
});
