import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import type { Webhook } from '../../api/types.ts';

export interface WebhookFilter {
  readonly status?: Webhook['status'] | undefined;
  readonly keyId?: string | undefined;
}

const WEBHOOKS_AT_ONCE = 100;
const REFRESH_MS = 5_000;

/** The webhooks that a filter selects, the newest first, a page at a time. */
export const webhooksQuery = ({ status, keyId }: WebhookFilter) =>
  infiniteQueryOptions({
    queryKey: ['webhooks', { status, keyId }],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET('/admin/v1/webhooks', {
          params: {
            query: {
              limit: WEBHOOKS_AT_ONCE,
              ...(pageParam !== '' && { cursor: pageParam }),
              ...(status && { status }),
              ...(keyId && { keyId }),
            },
          },
        }),
      ),
    ...PAGED_LIST,
  });

/** One webhook, and what becomes of it. */
export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhook', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/webhooks/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? REFRESH_MS : false),
  });
