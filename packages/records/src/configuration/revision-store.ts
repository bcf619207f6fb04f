import type { Actor, AuditEntry } from '@gateway/metering/audit/audit-log';
import { z } from 'zod';
import { takeVersions } from '../access/access-rows.ts';
import { FIRST_AUDIT_SEQ } from '../access/access-store.ts';
import { writeAudit } from '../audit/audit-rows.ts';
import { awaitDatabase } from '../database/await-database.ts';
import type { Database, Queries } from '../database/database.ts';

/** A state of the configuration. */
export interface Revision {
  /** From 1. */
  readonly number: number;
  readonly atMs: number;
  readonly author: string;
  readonly reason: string;
  readonly text: string;
  /** Values of variables that the text names, sealed. */
  readonly secrets: Readonly<Record<string, string>>;
}
export type RevisionHead = Omit<Revision, 'text' | 'secrets'>;

export interface NewRevision extends Pick<Revision, 'reason' | 'text' | 'secrets'> {
  /** The number of the revision that was changed; 0: there was none. */
  readonly base: number;
  readonly by: Actor;
  /** What the log of changes shows of it. */
  readonly audit: Pick<AuditEntry, 'before' | 'after'>;
}

/** The configuration's revisions, of which the last one is in use. All throw `service_unavailable` where the database does not answer. */
export interface RevisionStore {
  latest(): Promise<Revision | undefined>;
  get(number: number): Promise<Revision | undefined>;
  /** The newest first, before a number. */
  list(page: {
    readonly limit: number;
    readonly before?: number | undefined;
  }): Promise<readonly RevisionHead[]>;
  /** Undefined where another revision is the last one by now. */
  add(revision: NewRevision): Promise<Revision | undefined>;
}

/** Older ones are deleted. */
export const MAX_REVISIONS = 1000;

const MEANWHILE =
  'The configuration can be neither shown nor changed until then; the services continue with the one they have.';

const Heads = z.array(
  z
    .object({ number: z.int(), created_at: z.int(), author: z.string(), reason: z.string() })
    .transform(({ created_at: atMs, ...head }): RevisionHead => ({ ...head, atMs })),
);
const Secrets = z.record(z.string(), z.string());
const Revisions = z.array(
  z
    .object({
      ...{ number: z.int(), created_at: z.int(), author: z.string(), reason: z.string() },
      ...{ content: z.string(), secrets: z.string() },
    })
    .transform(
      ({ created_at: atMs, content: text, secrets, ...head }): Revision => ({
        ...{ ...head, atMs, text },
        secrets: Secrets.parse(JSON.parse(secrets)),
      }),
    ),
);

const HEAD = 'number, created_at, author, reason';
const WHOLE = `${HEAD}, content, secrets`;

export function createRevisionStore({
  database,
  now,
}: {
  database: Database;
  now: () => number;
}): RevisionStore {
  const read = <T>(work: (queries: Queries) => Promise<T>): Promise<T> =>
    awaitDatabase(database.read(work), MEANWHILE);
  return {
    latest: () => read(readLatest),
    get: (number) =>
      read(async ({ query }) =>
        Revisions.parse(
          await query(`select ${WHOLE} from configuration_revisions where number = $1`, [number]),
        ).at(0),
      ),
    list: ({ limit, before = Number.MAX_SAFE_INTEGER }) =>
      read(async ({ query }) =>
        Heads.parse(
          await query(
            `select ${HEAD} from configuration_revisions where number < $1 order by number desc limit $2`,
            [before, limit],
          ),
        ),
      ),
    add: ({ base, reason, text, secrets, by, audit }) => {
      const write = async (queries: Queries): Promise<Revision | undefined> => {
        // Changes wait here for each other.
        const version = await takeVersions(queries, 1);
        if (((await readLatest(queries))?.number ?? 0) !== base) return undefined;
        const atMs = now();
        const revision: Revision = { number: base + 1, atMs, author: by.who, reason, text, secrets };
        await queries.query(
          `insert into configuration_revisions (${WHOLE}) values ($1, $2, $3, $4, $5, $6)`,
          [...[revision.number, atMs, by.who, reason, text], JSON.stringify(secrets)],
        );
        await queries.query('delete from configuration_revisions where number <= $1', [
          revision.number - MAX_REVISIONS,
        ]);
        const entry: AuditEntry = {
          ...{ at: new Date(atMs).toISOString(), ...by },
          ...{ action: 'configuration.changed', subject: `revision ${revision.number}`, ...audit },
        };
        await writeAudit(queries, [
          { id: { ms: atMs, seq: FIRST_AUDIT_SEQ + version }, text: JSON.stringify(entry) },
        ]);
        return revision;
      };
      return awaitDatabase(database.write(write), MEANWHILE);
    },
  };
}

const readLatest = async ({ query }: Queries): Promise<Revision | undefined> =>
  Revisions.parse(
    await query(`select ${WHOLE} from configuration_revisions order by number desc limit 1`),
  ).at(0);
