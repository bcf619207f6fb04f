import { createHash } from 'node:crypto';
import { GROUPS, type Group, type Groups } from '@gateway/metering/usage/sums';
import { type GroupFilter, NOT_FAILED, type UsageQuery } from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import { placesOf, type Queries } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';

/** Rows that are looked up or written by one statement. */
const AT_ONCE = 200;

const WantedRows = z.array(z.object({ id: z.int(), key_id: z.string(), team: z.string() }));
const Known = z.array(z.object({ id: z.int(), digest: z.string() }));
const Last = z.tuple([z.object({ last: z.int().nullable() })]);

const columns = ['id', 'digest', ...GROUPS.map(columnOf)];

/** Groups that the first schema did not have are part of a digest where they are set: those of before stay the same. */
const FIRST_GROUPS = 6;

/** Names of any length have an index of a bounded one. */
function digestOf(groups: Groups): string {
  const names = GROUPS.map((name) => groups[name]);
  const last = names.findLastIndex((name) => name !== '');
  const counted = names.slice(0, Math.max(FIRST_GROUPS, last + 1));
  return createHash('sha256').update(JSON.stringify(counted)).digest('base64url');
}

/** The ids of groups in the database, by which records and sums name them. */
export interface GroupIds {
  /** Those of these groups; groups that are new are written. To be called within the one writer's transaction. */
  of(queries: Queries, groups: readonly Groups[]): Promise<(groups: Groups) => number>;
  /** Forgets what a transaction that has failed may have written. */
  forget(): void;
}

const MAX_REMEMBERED = 50_000;

export function createGroupIds(): GroupIds {
  const remembered = new Map<string, number>();
  return {
    forget: () => remembered.clear(),
    of: async ({ query }, groups) => {
      if (remembered.size > MAX_REMEMBERED) remembered.clear();
      const wanted = new Map(groups.map((one) => [digestOf(one), one]));
      const unknown = [...wanted].filter(([digest]) => !remembered.has(digest));
      for (let at = 0; at < unknown.length; at += AT_ONCE) {
        const digests = unknown.slice(at, at + AT_ONCE).map(([digest]) => digest);
        const sql = `select id, digest from usage_groups where digest in ${placesOf(1, digests.length)}`;
        for (const { id, digest } of Known.parse(await query(sql, digests))) remembered.set(digest, id);
      }
      const missing = unknown.filter(([digest]) => !remembered.has(digest));
      const [{ last }] =
        missing.length === 0
          ? [{ last: 0 }]
          : Last.parse(await query('select max(id) as last from usage_groups'));
      let id = last ?? 0;
      for (let at = 0; at < missing.length; at += AT_ONCE) {
        const rows = missing.slice(at, at + AT_ONCE);
        const values = rows.flatMap(([digest, one]) => {
          id += 1;
          remembered.set(digest, id);
          return [id, digest, ...GROUPS.map((name) => storable(one[name]))];
        });
        await query(
          `insert into usage_groups (${columns.join(', ')}) values ${placesOf(rows.length, columns.length)}`,
          values,
        );
      }
      return (one) => {
        const found = remembered.get(digestOf(one));
        if (found === undefined) throw new Error('a group that was not asked for');
        return found;
      };
    },
  };
}

/** PostgreSQL stores no NUL, and no half of a surrogate pair. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

/** The groups that a query tells apart. */
export const neededGroups = ({
  groupBy = [],
  only,
  whose,
  isFailed = false,
}: GroupFilter & Partial<Pick<UsageQuery, 'groupBy'>>): ReadonlySet<Group> =>
  new Set([
    ...(isFailed ? (['outcome'] as const) : []),
    ...GROUPS.filter((name) => groupBy.includes(name) || only[name] !== undefined),
    ...(whose === undefined ? [] : (['keyId', 'team'] as const)),
  ]);

/** The ids of the groups that a query wants, and of the rollups of them; null: all of them. */
export async function idsOfWanted(
  { query }: Queries,
  { only, whose, isFailed = false }: GroupFilter,
): Promise<readonly number[] | null> {
  const wanted = GROUPS.flatMap((name) => {
    const value = only[name];
    return value === undefined ? [] : [{ column: columnOf(name), value }];
  });
  if (whose === undefined && wanted.length === 0 && !isFailed) return null;
  const failed = NOT_FAILED.map((outcome) => `outcome <> '${outcome}'`);
  const where = [
    ...wanted.map(({ column }, at) => `${column} = $${at + 1}`),
    // Sums that are not kept by outcome have none.
    ...(isFailed ? [...failed, "outcome <> ''"] : []),
  ].join(' and ');
  const rows = await query(
    `select id, key_id, team from usage_groups${where && ` where ${where}`}`,
    wanted.map(({ value }) => storable(value)),
  );
  return WantedRows.parse(rows)
    .filter(({ key_id: keyId, team }) => whose === undefined || whose({ keyId, team }))
    .map(({ id }) => id);
}
