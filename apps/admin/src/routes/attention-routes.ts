import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../admin-route.ts';
import type { ReadAttention } from '../attention.ts';
import { instant, page } from './schemas.ts';

/** Something that a person should look at. */
export const AttentionItem = z.strictObject({
  kind: z.enum([
    'channel_resting',
    'budget_near',
    'budget_spent',
    'queue_waiting',
    'configuration_invalid',
    'unpriced_model',
  ]),
  /** The channel's, team's, queue's or model's name, the key's id, or the file's path. */
  subject: z.string(),
  /** Without times: each reader has a zone. */
  sentence: z.string(),
  /** Null where that is not known. */
  since: instant.nullable(),
  /** When it ends by itself: a rest is over, a budget begins anew. Null where that is not known. */
  until: instant.nullable(),
  /** Callers are refused, or the gateway does not do what its configuration says. */
  isUrgent: z.boolean(),
});
export const AttentionPage = page(AttentionItem);

export const attentionRoutes = ({
  readAttention,
}: {
  readonly readAttention: ReadAttention;
}): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/attention',
    summary: 'What needs a person now, the most urgent first; at most ten seconds old',
    query: NO_QUERY,
    body: NO_BODY,
    reply: AttentionPage,
    handle: async ({ principal }) => ({ data: await readAttention(principal.scope), next: null }),
  }),
];
