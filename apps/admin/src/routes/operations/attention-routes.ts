import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { page } from '../../api/schemas/page.ts';
import { AttentionItem, type ReadAttention } from '../../operations/attention.ts';

export const AttentionPage = page(AttentionItem);

export const attentionRoutes = ({
  readAttention,
}: {
  readonly readAttention: ReadAttention;
}): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/attention',
    summary: 'What needs attention now, most urgent first; at most ten seconds old',
    query: NO_QUERY,
    body: NO_BODY,
    reply: AttentionPage,
    handle: async ({ principal }) => ({ data: await readAttention(principal.scope), next: null }),
  }),
];
