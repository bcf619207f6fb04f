import { MEASURES, type Measure } from '@gateway/metering/usage/sums';
import type { Dialect } from './database.ts';

/** A column for each measure of the sums, such as `input_tokens`. */
export const columnOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const sumColumns = (measures: readonly Measure[]): string =>
  measures.map((measure) => `${columnOf(measure)} bigint not null`).join(',\n      ');

/** By bytes, as Redis sorted them: ids are pages' cursors. */
const sortedText = (dialect: Dialect): string => (dialect === 'postgres' ? 'text collate "C"' : 'text');

/**
 * How the schema came about: each step is run once, in a transaction, on both databases. Steps that have been released are never
 * changed; a new one only adds, so that the version before still runs beside it.
 */
export const MIGRATIONS: readonly ((dialect: Dialect) => readonly string[])[] = [
  (dialect) => [
    // Who brings the streams into the database. `term` grows with each recorder: what an earlier one still writes is refused.
    'create table recorder (term bigint not null, holder text not null, lease_until bigint not null)',
    "insert into recorder (term, holder, lease_until) values (0, '', 0)",
    // How far each stream of Redis has been read: the id of its last entry.
    'create table stream_cursors (stream text primary key, entry_ms bigint not null, entry_seq bigint not null)',
    // Facts about the source, by name.
    'create table recorder_facts (name text primary key, value text not null)',
    'create table broken_records (stream text not null, entry text not null, content text not null, primary key (stream, entry))',
    // Refusals have no id of their own: each process's counts of a second do.
    'create table refusal_counts (id text primary key, ended_at bigint not null)',
    `create table usage_groups (
      id integer primary key,
      digest text not null unique,
      key_id text not null,
      team text not null,
      model text not null,
      channel text not null,
      endpoint text not null,
      outcome text not null
    )`,
    `create table usage_records (
      ended_at bigint not null,
      ended_seq bigint not null,
      id text not null,
      request_id text,
      started_at double precision not null,
      group_id bigint not null,
      has_team smallint not null,
      has_channel smallint not null,
      attempts bigint not null,
      duration_ms double precision not null,
      first_byte_ms double precision,
      input_tokens bigint not null,
      cached_input_tokens bigint not null,
      cache_write_tokens bigint not null,
      cache_write1h_tokens bigint,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      images bigint not null,
      characters bigint not null,
      audio_ms bigint not null,
      further_consumption text,
      estimated smallint not null,
      cost_micro_usd bigint,
      detail text
    )${dialect === 'postgres' ? ' partition by range (started_at)' : ''}`,
    ...(dialect === 'postgres'
      ? ['create table usage_records_other partition of usage_records default']
      : []),
    // A record's start never changes; PostgreSQL wants the partition's column in it.
    'create unique index usage_records_id on usage_records (id, started_at)',
    'create index usage_records_request_id on usage_records (request_id)',
    'create index usage_records_ended on usage_records (ended_at, ended_seq)',
    // Of each hour and of each day (UTC): `start` is the number of hours, or of days, since 1970.
    `create table usage_sums (
      grain smallint not null,
      start bigint not null,
      group_id bigint not null,
      ${sumColumns(MEASURES)},
      primary key (grain, start, group_id)
    )${dialect === 'sqlite' ? ' without rowid' : ''}`,
    `create table usage_latencies (
      grain smallint not null,
      start bigint not null,
      group_id bigint not null,
      bucket text not null,
      count bigint not null,
      primary key (grain, start, group_id, bucket)
    )${dialect === 'sqlite' ? ' without rowid' : ''}`,
  ],
  (dialect) => {
    return [
      // Keys by their ids and teams by their names. Each change of any of them has a version of its own.
      `create table access_records (
        kind text not null,
        id ${sortedText(dialect)} not null,
        version bigint not null,
        content text not null,
        team text,
        state text not null,
        expires_at bigint,
        has_budget smallint not null,
        searched text not null,
        primary key (kind, id)
      )`,
      'create index access_records_team on access_records (kind, team, id)',
      'create table access_version (version bigint not null)',
      'insert into access_version (version) values (0)',
      // What Redis may not know of yet.
      'create table access_changes (version bigint primary key, kind text not null, id text not null)',
      'create table audit_log (entry_ms bigint not null, entry_seq bigint not null, content text not null, primary key (entry_ms, entry_seq))',
      // What budgets' accounts have spent, by their names in Redis.
      `create table spent_accounts (name ${sortedText(dialect)} primary key, micro_usd bigint not null, changed_at bigint not null)`,
    ];
  },
  // Sums that are there already are by all groups only.
  () => [
    `insert into recorder_facts (name, value)
     select 'rollups since', cast(coalesce(max(start) + 1, 0) as text) from usage_sums where grain = 0`,
  ],
  () => [
    // Stored conversations that were not used for some hours. A tree is a record and all that continue it; `phase`: 0 on its way from
    // Redis, 1 here, 2 on its way back. `used_at`: when it was last used.
    `create table stored_trees (
      owner text not null,
      root text not null,
      phase smallint not null,
      move text not null,
      used_at bigint not null,
      expires_at bigint,
      has_hole smallint not null,
      primary key (owner, root)
    )`,
    'create index stored_trees_expiry on stored_trees (expires_at)',
    'create index stored_trees_moving on stored_trees (phase) where phase <> 1',
    `create table stored_records (
      owner text not null,
      record_key text not null,
      root text not null,
      head text not null,
      size bigint not null,
      content text not null,
      origin text,
      origin_until bigint,
      primary key (owner, record_key)
    )`,
    'create index stored_records_root on stored_records (owner, root)',
    'create index stored_records_head on stored_records (owner, head)',
    // Items, each after the one before it. `refs`: how many nodes and records here lead to it.
    `create table stored_nodes (
      owner text not null,
      node text not null,
      parent text not null,
      item_id text not null,
      part text not null,
      refs bigint not null,
      size bigint not null,
      content text not null,
      origin text,
      origin_until bigint,
      primary key (owner, node)
    )`,
    'create index stored_nodes_parent on stored_nodes (owner, parent)',
    "create index stored_nodes_item on stored_nodes (owner, item_id) where item_id <> ''",
    // What lies in files.
    `create table stored_parts (
      owner text not null,
      digest text not null,
      name text not null,
      size bigint not null,
      refs bigint not null,
      primary key (owner, digest)
    )`,
    'create table stored_owners (owner text primary key, bytes bigint not null, records bigint not null)',
  ],
  // The HTTP status and the code of the error that requests ended with; '' for what was recorded before.
  () =>
    ['error_code', 'status'].map(
      (name) => `alter table usage_groups add column ${name} text not null default ''`,
    ),
  // Days that are there already are in no week.
  () => [
    `insert into recorder_facts (name, value)
     select 'weeks since', cast(coalesce(max(start) + 1, 0) as text) from usage_sums where grain = 0`,
  ],
  // What callers name their requests by. Their indexes are made later.
  () => ['end_user', 'session', 'label'].map((name) => `alter table usage_records add column ${name} text`),
  (dialect) => [
    // How much each key is used, for lists in that order: `requests` and `micro_usd` are those of some days until now.
    `create table key_uses (
      key_id ${sortedText(dialect)} primary key,
      last_used_at bigint not null default 0,
      requests bigint not null default 0,
      micro_usd bigint not null default 0
    )`,
    ...['last_used_at', 'requests', 'micro_usd'].map(
      (name) => `create index key_uses_${name} on key_uses (${name}, key_id)`,
    ),
    "insert into key_uses (key_id) select id from access_records where kind = 'key'",
  ],
  (dialect) => [
    // People who sign in with a password. `teams` is JSON; `searched` the name and the address in lower case.
    `create table people (
      id ${sortedText(dialect)} primary key,
      email text not null unique,
      name text not null,
      role text not null,
      teams text not null,
      is_disabled smallint not null,
      password_hash text,
      link_digest text unique,
      link_expires_at bigint,
      epoch bigint not null,
      created_at bigint not null,
      last_sign_in_at bigint,
      searched text not null
    )`,
    // What groups of the identity provider stand for.
    `create table group_rules (group_name ${sortedText(dialect)} primary key, role text not null, teams text not null)`,
  ],
  // States of the configuration, where the database has it. `secrets` is JSON: values of variables, sealed.
  () => [
    `create table configuration_revisions (
      number bigint primary key,
      created_at bigint not null,
      author text not null,
      reason text not null,
      content text not null,
      secrets text not null
    )`,
  ],
];
