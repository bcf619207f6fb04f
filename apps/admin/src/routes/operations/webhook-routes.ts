import { GatewayError } from '@gateway/contracts/gateway-error';
import { WebhookStatus } from '@gateway/contracts/webhooks';
import { WEBHOOK_ID } from '@gateway/jobs/webhooks/delivery';
import type { WebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { KEY_ID } from '@gateway/metering/keys/key-record';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { WebhookPage, WebhookReply } from '../../api/schemas/operations.ts';
import { pageQuery } from '../../api/schemas/page.ts';

const WebhookQuery = pageQuery(WEBHOOK_ID).extend({
  keyId: z.string().regex(KEY_ID, 'it is not the id of a key').optional(),
  status: WebhookStatus.optional(),
});

/** Which webhooks were sent, how that went, and sending them again. */
export const webhookRoutes = ({ webhooks }: { webhooks: WebhookLog }): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/webhooks',
    summary: 'List recent webhooks, newest first',
    query: WebhookQuery,
    body: NO_BODY,
    reply: WebhookPage,
    handle: async ({ query: { keyId, status, limit, cursor } }) => {
      const page = await webhooks.list({ keyId, status, limit, after: cursor });
      if (page !== undefined) return { data: page.webhooks, next: page.next };
      throw new GatewayError('invalid_value', {
        message: "Invalid value for 'cursor': that webhook is no longer listed. Start from the first page.",
        path: ['cursor'],
      });
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/webhooks/{id}',
    summary: 'Read a webhook with its latest attempts',
    query: NO_QUERY,
    body: NO_BODY,
    reply: WebhookReply,
    handle: async ({ parameter: id }) => found(await webhooks.get(id), id),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/webhooks/{id}/replay',
    summary: 'Resend a webhook immediately under the same id, with retries for another day',
    query: NO_QUERY,
    body: NO_BODY,
    status: 202,
    reply: WebhookReply,
    handle: async ({ parameter: id }) => found(await webhooks.replay(id), id),
  }),
];

function found<T>(value: T | undefined, id: string): T {
  if (value !== undefined) return value;
  throw new GatewayError('object_not_found', `There is no webhook '${id}'. Webhooks are stored for a week.`);
}
