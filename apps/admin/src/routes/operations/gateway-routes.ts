import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { GatewayReply } from '../../api/schemas/operations.ts';

interface GatewayRoutesOptions {
  readonly publicUrl: string;
  readonly timeZone: string;
}

/** What clients need to know of this gateway. */
export const gatewayRoutes = (facts: GatewayRoutesOptions): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/gateway',
    summary: 'Where callers reach the gateway, and the time zone of its budgets',
    query: NO_QUERY,
    body: NO_BODY,
    reply: GatewayReply,
    handle: async () => facts,
  }),
];
