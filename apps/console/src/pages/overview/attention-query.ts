import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';

const REFRESH_MS = 10_000;

/** What needs attention now. */
export const attentionQuery = queryOptions({
  queryKey: ['attention'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/attention'))).data,
  refetchInterval: REFRESH_MS,
});
