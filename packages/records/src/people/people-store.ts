import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Actor, AuditEntry } from '@gateway/metering/audit/audit-log';
import { z } from 'zod';
import { readVersion, takeVersions } from '../access/access-rows.ts';
import { FIRST_AUDIT_SEQ } from '../access/access-store.ts';
import { writeAudit } from '../audit/audit-rows.ts';
import { awaitDatabase } from '../database/await-database.ts';
import {
  type Database,
  type Dialect,
  likePattern,
  type Queries,
  type SqlValue,
} from '../database/database.ts';

/** A person who signs in with a password, as it is stored. Times are Unix milliseconds. */
export interface PersonRecord {
  readonly id: string;
  /** In lower case; no two people have the same. */
  readonly email: string;
  readonly name: string;
  readonly role: string;
  /** Those that a role of teams is about. */
  readonly teams: readonly string[];
  readonly isDisabled: boolean;
  /** Null: the invitation is not accepted yet. */
  readonly passwordHash: string | null;
  /** The one link by which a password can be set: the digest of its token. */
  readonly link: { readonly digest: string; readonly expiresAtMs: number } | null;
  /** Sessions that were opened with another one have ended. */
  readonly epoch: number;
  readonly createdAtMs: number;
  readonly lastSignInAtMs: number | null;
}

/** What people of these groups of the identity provider may do. */
export interface GroupRule {
  /** The value of the provider's claim. */
  readonly group: string;
  readonly role: string;
  readonly teams: readonly string[];
}

export type PersonState = 'invited' | 'active' | 'disabled';

export interface PeopleFilter {
  /** A part of their names or addresses. */
  readonly containing?: string | undefined;
  readonly state?: PersonState | undefined;
  readonly role?: string | undefined;
  /** People of one of these teams. */
  readonly teams?: readonly string[] | undefined;
}

type Audit = Pick<AuditEntry, 'action' | 'before' | 'after'>;

/** What a change makes of a record; null: nothing is there any more. */
export interface Changed<Next> {
  readonly next: Next;
  readonly audit: Audit;
}

/** The people who sign in with a password, and what groups of an identity provider stand for. */
export interface PeopleStore {
  /** Whether there is anybody. */
  isAny(): Promise<boolean>;
  get(id: string): Promise<PersonRecord | undefined>;
  findByEmail(email: string): Promise<PersonRecord | undefined>;
  findByLink(digest: string): Promise<PersonRecord | undefined>;
  /** The newest first. */
  list(request: {
    readonly limit: number;
    readonly after?: string | undefined;
    readonly only?: PeopleFilter;
  }): Promise<{ readonly people: readonly PersonRecord[]; readonly next: string | null }>;
  /** @throws {GatewayError} `conflict` where the address is taken, or there are too many */
  add(person: PersonRecord, by: Actor, audit: Audit): Promise<void>;
  /**
   * Changes a person between two changes of others. What `change` throws is thrown, and nothing is changed.
   *
   * @returns undefined where there is no such person
   */
  change(
    id: string,
    change: (before: PersonRecord) => Changed<PersonRecord | null>,
    by: Actor,
  ): Promise<PersonRecord | undefined>;
  /** Not in the log: opening the session is. */
  noteSignIn(id: string, atMs: number): Promise<void>;
  listRules(): Promise<readonly GroupRule[]>;
  /** Replaces the rule of the same group. @throws {GatewayError} `conflict` where there are too many */
  putRule(rule: GroupRule, by: Actor): Promise<void>;
  /** False: there is none. */
  deleteRule(group: string, by: Actor): Promise<boolean>;
}

export const MAX_PEOPLE = 10_000;
export const MAX_GROUP_RULES = 500;

const MEANWHILE = 'People can be neither shown nor changed until then, and cannot sign in with a password.';

const Teams = z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text)));
const PersonRow = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    role: z.string(),
    teams: Teams,
    is_disabled: z.int(),
    password_hash: z.string().nullable(),
    link_digest: z.string().nullable(),
    link_expires_at: z.int().nullable(),
    epoch: z.int(),
    created_at: z.int(),
    last_sign_in_at: z.int().nullable(),
  })
  .transform(
    ({ id, email, name, role, teams, epoch, ...row }): PersonRecord => ({
      ...{ id, email, name, role, teams, epoch },
      isDisabled: row.is_disabled === 1,
      passwordHash: row.password_hash,
      link:
        row.link_digest === null ? null : { digest: row.link_digest, expiresAtMs: row.link_expires_at ?? 0 },
      createdAtMs: row.created_at,
      lastSignInAtMs: row.last_sign_in_at,
    }),
  );
const RuleRow = z
  .object({ group_name: z.string(), role: z.string(), teams: Teams })
  .transform(({ group_name: group, ...row }): GroupRule => ({ group, ...row }));
const Counted = z.tuple([z.object({ count: z.coerce.number().int() })]);

const rowOf = (person: PersonRecord): Readonly<Record<string, SqlValue>> => ({
  id: person.id,
  email: person.email,
  name: person.name,
  role: person.role,
  teams: JSON.stringify(person.teams),
  is_disabled: person.isDisabled ? 1 : 0,
  password_hash: person.passwordHash,
  link_digest: person.link?.digest ?? null,
  link_expires_at: person.link?.expiresAtMs ?? null,
  epoch: person.epoch,
  created_at: person.createdAtMs,
  last_sign_in_at: person.lastSignInAtMs,
  searched: `${person.name}\n${person.email}`.toLowerCase(),
});

export function createPeopleStore({
  database,
  now,
}: {
  readonly database: Database;
  readonly now: () => number;
}): PeopleStore {
  const read = <T>(work: (queries: Queries) => Promise<T>) => awaitDatabase(database.read(work), MEANWHILE);
  /** Changes wait for each other, and for those of keys and teams: they share the numbers of the log's entries. */
  const write = <T>(work: (queries: Queries) => Promise<T>) =>
    awaitDatabase(
      database.write(async (queries) => {
        await takeVersions(queries, 1);
        return work(queries);
      }),
      MEANWHILE,
    );

  const findOne = async ({ query }: Queries, column: string, value: string) => {
    const rows = await query(`select * from people where ${column} = $1`, [value]);
    return z.array(PersonRow).parse(rows).at(0);
  };
  const countOf = async ({ query }: Queries, table: 'people' | 'group_rules'): Promise<number> => {
    const [{ count }] = Counted.parse(await query(`select count(*) as count from ${table}`));
    return count;
  };

  const log = async (queries: Queries, subject: string, by: Actor, audit: Audit): Promise<void> => {
    const atMs = now();
    const entry: AuditEntry = { at: new Date(atMs).toISOString(), ...by, subject, ...audit };
    const seq = FIRST_AUDIT_SEQ + (await readVersion(queries));
    await writeAudit(queries, [{ id: { ms: atMs, seq }, text: JSON.stringify(entry) }]);
  };

  const rulesIn = async ({ query }: Queries, group?: string): Promise<readonly GroupRule[]> => {
    const where = group === undefined ? '' : 'where group_name = $1';
    const values = group === undefined ? [] : [group];
    return z
      .array(RuleRow)
      .parse(await query(`select * from group_rules ${where} order by group_name`, values));
  };

  return {
    isAny: () => read(async (queries) => (await countOf(queries, 'people')) > 0),
    get: (id) => read((queries) => findOne(queries, 'id', id)),
    findByEmail: (email) => read((queries) => findOne(queries, 'email', email)),
    findByLink: (digest) => read((queries) => findOne(queries, 'link_digest', digest)),

    list: ({ limit, after, only = {} }) =>
      read(async ({ query }) => {
        const values: SqlValue[] = [limit + 1];
        const wheres = conditionsOf(only, database.dialect, (value) => `$${values.push(value)}`);
        if (after !== undefined) wheres.push(`id < $${values.push(after)}`);
        const where = wheres.length === 0 ? '' : `where ${wheres.join(' and ')}`;
        const rows = await query(`select * from people ${where} order by id desc limit $1`, values);
        const found = z.array(PersonRow).parse(rows);
        const people = found.slice(0, limit);
        return { people, next: found.length > limit ? (people.at(-1)?.id ?? null) : null };
      }),

    add: (person, by, audit) =>
      write(async (queries) => {
        if ((await findOne(queries, 'email', person.email)) !== undefined) throw taken(person.email);
        if ((await countOf(queries, 'people')) >= MAX_PEOPLE)
          throw new GatewayError('conflict', `There are ${MAX_PEOPLE} people already. Delete some first.`);
        const row = rowOf(person);
        const names = Object.keys(row);
        await queries.query(
          `insert into people (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
          Object.values(row),
        );
        await log(queries, person.id, by, audit);
      }),

    change: (id, change, by) =>
      write(async (queries) => {
        const before = await findOne(queries, 'id', id);
        if (before === undefined) return undefined;
        const { next, audit } = change(before);
        if (next === null) await queries.query('delete from people where id = $1', [id]);
        else {
          const { id: _, ...row } = rowOf(next);
          const sets = Object.keys(row).map((name, at) => `${name} = $${at + 2}`);
          await queries.query(`update people set ${sets.join(', ')} where id = $1`, [
            id,
            ...Object.values(row),
          ]);
        }
        await log(queries, id, by, audit);
        return next ?? before;
      }),

    noteSignIn: async (id, atMs) => {
      await awaitDatabase(
        database.write(({ query }) =>
          query('update people set last_sign_in_at = $2 where id = $1', [id, atMs]),
        ),
        MEANWHILE,
      );
    },

    listRules: () => read((queries) => rulesIn(queries)),

    putRule: (rule, by) =>
      write(async (queries) => {
        const { group, role, teams } = rule;
        const [before] = await rulesIn(queries, group);
        if (before === undefined && (await countOf(queries, 'group_rules')) >= MAX_GROUP_RULES)
          throw new GatewayError('conflict', `There are ${MAX_GROUP_RULES} group rules already.`);
        await queries.query(
          `insert into group_rules (group_name, role, teams) values ($1, $2, $3)
           on conflict (group_name) do update set role = excluded.role, teams = excluded.teams`,
          [group, role, JSON.stringify(teams)],
        );
        const action = 'group_rule.changed';
        await log(queries, group, by, { action, before: shownRule(before), after: shownRule(rule) });
      }),

    deleteRule: (group, by) =>
      write(async (queries) => {
        const [before] = await rulesIn(queries, group);
        if (before === undefined) return false;
        await queries.query('delete from group_rules where group_name = $1', [group]);
        await log(queries, group, by, {
          action: 'group_rule.deleted',
          before: shownRule(before),
          after: null,
        });
        return true;
      }),
  };
}

const shownRule = (rule: GroupRule | undefined): Audit['before'] => (rule === undefined ? null : { ...rule });

const taken = (email: string): GatewayError =>
  new GatewayError('conflict', {
    message: `There is a person with the e-mail address ${email} already.`,
    path: ['email'],
  });

/** A team's name as it is in the text of the column, between its quotes. */
const quoted = (team: string): string => JSON.stringify(team);

const STATES: Readonly<Record<PersonState, string>> = {
  disabled: 'is_disabled = 1',
  invited: 'is_disabled = 0 and password_hash is null',
  active: 'is_disabled = 0 and password_hash is not null',
};

function conditionsOf(
  { containing, state, role, teams }: PeopleFilter,
  dialect: Dialect,
  place: (value: SqlValue) => string,
): string[] {
  // Unlike `like`, it is the same for SQLite as for PostgreSQL about capitals.
  const positionIn = dialect === 'sqlite' ? 'instr' : 'strpos';
  const inTeams = teams?.map((team) => `${positionIn}(teams, ${place(quoted(team))}) > 0`) ?? [];
  return [
    ...(containing === undefined
      ? []
      : [`searched like ${place(likePattern(containing.toLowerCase()))} escape '\\'`]),
    ...(state === undefined ? [] : [`(${STATES[state]})`]),
    ...(role === undefined ? [] : [`role = ${place(role)}`]),
    ...(teams === undefined ? [] : [inTeams.length === 0 ? '1 = 0' : `(${inTeams.join(' or ')})`]),
  ];
}
