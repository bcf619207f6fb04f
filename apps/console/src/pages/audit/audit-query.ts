import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ApiError, api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import type { AuditEntry } from '../../api/types.ts';

export interface AuditFilter {
  readonly who?: string | undefined;
  readonly action?: AuditEntry['action'] | undefined;
  readonly subject?: string | undefined;
  /** Of one thing alone, by its whole id or name. */
  readonly subjectId?: string | undefined;
  readonly kind?: AuditKind | undefined;
}

/** What an entry may be about. */
export const AUDIT_KINDS = ['key', 'team', 'channel', 'session'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

const ENTRIES_AT_ONCE = 100;

/** The entries that a filter selects, the newest first, a page at a time. */
export const auditQuery = ({ who, action, subject, subjectId, kind }: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', { who, action, subject, subjectId, kind }],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET('/admin/v1/audit', {
          params: {
            query: {
              limit: ENTRIES_AT_ONCE,
              ...(pageParam !== '' && { cursor: pageParam }),
              ...(who && { who }),
              ...(action && { action }),
              ...(subject && { subject }),
              ...(subjectId && { subjectId }),
              ...(kind && { kind }),
            },
          },
        }),
      ),
    ...PAGED_LIST,
  });

/** One entry. Its id is its place in the log, so it is the first one of the page that begins behind its successor. */
export const auditEntryQuery = (id: string) =>
  queryOptions({
    queryKey: ['audit-entry', id],
    queryFn: async () => {
      const [, ms = '', sequence = ''] = /^(\d{1,15})-(\d{1,14})$/.exec(id) ?? [];
      const cursor = `${ms}-${Number(sequence) + 1}`;
      const { data } = await bodyOf(api.GET('/admin/v1/audit', { params: { query: { limit: 1, cursor } } }));
      const [entry] = data;
      if (entry?.id !== id) throw new ApiError(404, NOT_KEPT);
      return entry;
    },
    // What has happened stays as it is.
    staleTime: Number.POSITIVE_INFINITY,
  });

const NOT_KEPT = {
  code: 'object_not_found',
  message:
    'This entry is not in the log, which stores about the last 100,000 changes. Check the address for typos.',
  path: null,
};
