import { readAudit } from '@gateway/metering/audit/audit-log';
import type { ReportBroken } from '@gateway/metering/broken-records';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY } from '../admin-route.ts';
import { AuditPage, PageQuery } from './schemas.ts';

const AuditQuery = PageQuery.extend({
  cursor: z
    .string()
    .regex(/^\d{1,15}-\d{1,15}$/, 'it is not the next of a page')
    .optional(),
});

/** Who changed what. */
export const auditRoutes = ({ redis, onBroken }: { redis: Redis; onBroken: ReportBroken }): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/audit',
    summary: 'Every change of keys and teams, the newest first: who, when, before, after',
    body: NO_BODY,
    query: AuditQuery,
    reply: AuditPage,
    handle: async ({ query: { limit, cursor } }) => {
      const { entries, next } = await readAudit(redis, { limit, after: cursor, onBroken });
      return { data: entries, next };
    },
  }),
];
