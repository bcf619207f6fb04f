import { AUDIT_ACTIONS, type AuditEntry, type AuditPage } from '@gateway/metering/audit/audit-log';
import { z } from 'zod';

/** Which entries of the audit log a list shows. Absent members do not count. */
export const AuditFilter = z.strictObject({
  /** A part of the name of the person who made the change, in upper or lower case. */
  who: z.string().max(100).optional(),
  action: z.enum(AUDIT_ACTIONS).optional(),
  /** A part of the subject's id or name, in upper or lower case. */
  subject: z.string().max(200).optional(),
  /** The whole id of a key or a session, or the whole name of a team or a channel. */
  subjectId: z.string().min(1).max(200).optional(),
  /** What the subject is. */
  kind: z.enum(['key', 'team', 'channel', 'session']).optional(),
});
type AuditFilter = z.infer<typeof AuditFilter>;

type ReadPage = (options: {
  limit: number;
  after: string | undefined;
  containing: string | undefined;
}) => Promise<AuditPage>;

const ENTRIES_AT_ONCE = 500;
/** How many entries one request looks through. A page may be short, and have a `next` all the same. */
const MAX_SCANNED = 5_000;

/** One page of the entries that a filter selects, the newest first. */
export async function findAuditEntries(
  readPage: ReadPage,
  filter: AuditFilter,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<AuditPage> {
  const isWanted = wantedBy(filter);
  const containing =
    filter.subjectId === undefined ? undefined : `"subject":${JSON.stringify(filter.subjectId)}`;
  if (isWanted === null) return readPage({ limit, after, containing });
  const found: AuditPage['entries'][number][] = [];
  let cursor = after;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += ENTRIES_AT_ONCE) {
    const page = await readPage({ limit: ENTRIES_AT_ONCE, after: cursor, containing });
    const wanted = page.entries.filter(isWanted);
    const room = limit - found.length;
    found.push(...wanted.slice(0, room));
    if (wanted.length > room) return { entries: found, next: found.at(-1)?.id ?? null };
    if (page.next === null) return { entries: found, next: null };
    cursor = page.next;
    if (found.length === limit) break;
  }
  return { entries: found, next: cursor ?? null };
}

function wantedBy({
  who,
  action,
  subject,
  subjectId,
  kind,
}: AuditFilter): ((entry: AuditEntry) => boolean) | null {
  const name = who?.trim().toLowerCase() ?? '';
  const text = subject?.trim().toLowerCase() ?? '';
  if ([name, text].every((one) => one === '') && [action, subjectId, kind].every((one) => one === undefined))
    return null;
  return (entry) =>
    (action === undefined || entry.action === action) &&
    (kind === undefined || entry.action.startsWith(`${kind}.`)) &&
    (subjectId === undefined || entry.subject === subjectId) &&
    entry.who.toLowerCase().includes(name) &&
    (text === '' || namesOf(entry).some((one) => one.toLowerCase().includes(text)));
}

/** People know a key by its name, also by the one that it had before. */
const namesOf = ({ subject, before, after }: AuditEntry): string[] =>
  [subject, before?.name, after?.name].filter((name) => typeof name === 'string');
