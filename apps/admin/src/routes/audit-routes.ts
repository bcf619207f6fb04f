import { readAudit } from '@gateway/metering/audit/audit-log';
import type { ReportBroken } from '@gateway/metering/broken-records';
import type { Redis } from 'ioredis';
import { type AdminRoute, adminRoute, NO_BODY } from '../admin-route.ts';
import { AuditPage, pageQuery } from './schemas.ts';

const AUDIT_ID = /^\d{1,15}-\d{1,15}$/;

/** Who changed what. */
export const auditRoutes = ({ redis, onBroken }: { redis: Redis; onBroken: ReportBroken }): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/audit',
    summary: 'Every change of keys, teams and rests of channels, the newest first: who, when, before, after',
    body: NO_BODY,
    query: pageQuery(AUDIT_ID),
    reply: AuditPage,
    handle: async ({ query: { limit, cursor } }) => {
      const { entries, next } = await readAudit(redis, { limit, after: cursor, onBroken });
      return { data: entries, next };
    },
  }),
];
