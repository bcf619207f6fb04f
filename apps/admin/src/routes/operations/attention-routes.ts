import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { page } from '../../api/schemas/page.ts';
import { Finding } from '../../findings/finding.ts';
import { type ReadFindings, seenFindings } from '../../findings/read-findings.ts';

export const AttentionPage = page(Finding);

export const attentionRoutes = ({ readFindings }: { readonly readFindings: ReadFindings }): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/attention',
    summary: 'What needs attention now, most urgent first, with causes; at most half a minute old',
    query: NO_QUERY,
    body: NO_BODY,
    reply: AttentionPage,
    handle: async ({ principal }) => ({
      data: seenFindings(await readFindings(), principal.scope),
      next: null,
    }),
  }),
];
