import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Database, Queries } from './database.ts';

// Single values that a database knows of itself and of its Redis, by name.

const Facts = z.array(z.object({ value: z.string() }));
/** By which Redis tells this database from others. */
const ID = 'id';

export async function readFact({ query }: Queries, name: string): Promise<string | undefined> {
  return Facts.parse(await query('select value from recorder_facts where name = $1', [name])).at(0)?.value;
}

export async function writeFact({ query }: Queries, name: string, value: string): Promise<void> {
  await query(
    'insert into recorder_facts (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    [name, value],
  );
}

/** Returns the database's own id, which is made when it is asked for first. */
export function createDatabaseId(database: Database): () => Promise<string> {
  let known: string | undefined;
  return async () => {
    known ??= await database.read((queries) => readFact(queries, ID));
    known ??= await database.write(async (queries) => {
      const made = randomUUID();
      await queries.query(
        'insert into recorder_facts (name, value) values ($1, $2) on conflict (name) do nothing',
        [ID, made],
      );
      return (await readFact(queries, ID)) ?? made;
    });
    return known;
  };
}
