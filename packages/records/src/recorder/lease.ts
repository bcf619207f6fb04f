import { z } from 'zod';
import type { Database, Queries } from '../database/database.ts';

/** How long a recorder that no longer answers keeps the others waiting. Figures are complete meanwhile. */
const LEASE_MS = 60_000;
/** A lease is prolonged when so much of it has passed: without traffic nothing is written in between. */
const RENEW_MS = 20_000;
/** A lease that ends later than this comes from a clock that was wrong: nobody waits for it. */
const MAX_LEASE_MS = 600_000;

const Term = z.array(z.object({ term: z.int() }));

/** Another recorder has taken over: what this one has read is not written. */
export class LostLease extends Error {}

/**
 * Who brings the streams into the database, of all admin processes: one at a time, by a row with a term and an end. Clocks decide
 * only how soon another one takes over. That no two write is held by the term: every write checks it first, within its transaction,
 * and thereby locks the row.
 */
export interface Lease {
  /** Whether this recorder has it now; it takes it where it is free. `isNew` in a term that has just begun. */
  hold(): Promise<{ readonly isHeld: boolean; readonly isNew: boolean }>;
  /** Writes within the term. @throws {LostLease} */
  write<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Lets another one take over at once. */
  release(): Promise<void>;
}

export function createLease({
  database,
  holder,
  now,
}: {
  readonly database: Database;
  /** This recorder's own name. */
  readonly holder: string;
  readonly now: () => number;
}): Lease {
  let term: number | null = null;
  let untilMs = 0;

  const renew = async ({ query }: Queries, until: number): Promise<void> => {
    const rows = await query('update recorder set lease_until = $1 where term = $2 returning term', [
      until,
      term,
    ]);
    untilMs = until;
    if (rows.length > 0) return;
    term = null;
    throw new LostLease('another recorder has taken over');
  };
  const take = async (): Promise<number | null> => {
    const rows = await database.write(({ query }) =>
      query(
        `update recorder set term = term + 1, holder = $1, lease_until = $2 where lease_until <= $3 or lease_until > $4 returning term`,
        [holder, now() + LEASE_MS, now(), now() + MAX_LEASE_MS],
      ),
    );
    return Term.parse(rows).at(0)?.term ?? null;
  };

  return {
    hold: async () => {
      if (term !== null) {
        if (untilMs - now() > LEASE_MS - RENEW_MS && untilMs - now() <= LEASE_MS)
          return { isHeld: true, isNew: false };
        try {
          await database.write((queries) => renew(queries, now() + LEASE_MS));
          return { isHeld: true, isNew: false };
        } catch (error) {
          if (!(error instanceof LostLease)) throw error;
        }
      }
      term = await take();
      untilMs = now() + LEASE_MS;
      return { isHeld: term !== null, isNew: true };
    },
    write: (work) =>
      database.write(async (queries) => {
        await renew(queries, now() + LEASE_MS);
        return work(queries);
      }),
    release: async () => {
      if (term !== null) await database.write((queries) => renew(queries, 0));
      term = null;
    },
  };
}
