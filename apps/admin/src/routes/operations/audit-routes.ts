import { shownWebhookUrl } from '@gateway/contracts/webhooks';
import type { AuditEntry } from '@gateway/metering/audit/audit-log';
import type { ReadAudit } from '@gateway/records/audit/read-audit';
import { type AdminRoute, adminRoute, NO_BODY } from '../../api/admin-route.ts';
import { AuditPage } from '../../api/schemas/operations.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import { AuditFilter, findAuditEntries } from '../../operations/find-audit-entries.ts';

const AUDIT_ID = /^\d{1,15}-\d{1,15}$/;

/** Entries of earlier versions have the whole URL of a key's webhook. */
const withoutQuery = (shown: AuditEntry['before']): AuditEntry['before'] =>
  typeof shown?.webhookUrl === 'string' ? { ...shown, webhookUrl: shownWebhookUrl(shown.webhookUrl) } : shown;

/** Who changed what. */
export const auditRoutes = ({ readAudit }: { readonly readAudit: ReadAudit }): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/audit',
    summary:
      'Every change to keys, teams, channel rests and sessions, newest first: who, when, before, after',
    body: NO_BODY,
    query: pageQuery(AUDIT_ID).extend(AuditFilter.shape),
    reply: AuditPage,
    handle: async ({ query: { limit, cursor, ...filter } }) => {
      const { entries, next } = await findAuditEntries(readAudit, filter, { limit, after: cursor });
      const data = entries.map((entry) => ({
        ...entry,
        before: withoutQuery(entry.before),
        after: withoutQuery(entry.after),
      }));
      return { data, next };
    },
  }),
];
