import type { Account } from '@gateway/contracts/identity';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { accountOfKey, parseKeyRecord } from '@gateway/metering/keys/key-record';
import type { Projection } from '@gateway/metering/keys/records/projection';
import { periodOf } from '@gateway/metering/ledger/budget-period';
import { redisNames } from '@gateway/metering/redis-names';
import { accountOfTeam, parseTeamRecord } from '@gateway/metering/teams/team-record';
import type { Charged } from '@gateway/metering/usage/outbox';
import { z } from 'zod';
import { placesOf, type Queries } from '../database/database.ts';
import { readRecord } from './access-rows.ts';

/** A record that has just been written, and the accounts that it was charged to. */
export interface ChargedRecord {
  readonly record: UsageRecord;
  readonly charged: Charged;
}

export interface ChargeOptions {
  readonly projection: Pick<Projection, 'chargeLate'>;
  /** Called with accounts to which Redis may have charged a request twice: it was set back, and the request settled again. */
  readonly onChargedAgain: (accounts: readonly string[]) => void;
  /** Of budget periods. */
  readonly timeZone: string;
  readonly now: () => number;
}

const ACCOUNTS_AT_ONCE = 200;

/**
 * Adds what records cost to the accounts that they were charged to. One whose reservation was lost counts on the budgets that its key
 * and its team have now; Redis has not counted it, and does so here, before the transaction ends and once for each record.
 */
export async function chargeAccounts(
  queries: Queries,
  { projection, timeZone, now }: ChargeOptions,
  written: readonly ChargedRecord[],
): Promise<void> {
  const spent = new Map<string, number>();
  for (const { record, charged } of written) {
    const microUsd = record.costMicroUsd ?? 0;
    if (microUsd === 0) continue;
    const names = charged === 'lost' ? await accountsOf(queries, record, timeZone) : charged;
    if (charged === 'lost' && names.length > 0)
      await projection.chargeLate({ id: record.id, microUsd, accounts: names });
    for (const name of names) spent.set(name, (spent.get(name) ?? 0) + microUsd);
  }
  await addSpent(queries, spent, now());
}

async function accountsOf(
  queries: Queries,
  { keyId, team, startedAtMs }: UsageRecord,
  timeZone: string,
): Promise<readonly string[]> {
  const key = await readRecord(queries, 'key', keyId);
  const teamRecord = team === null ? undefined : await readRecord(queries, 'team', team);
  const accounts = [
    key && readAccount(() => accountOfKey(parseKeyRecord(key.text))),
    teamRecord && readAccount(() => accountOfTeam(parseTeamRecord(teamRecord.text))),
  ];
  return accounts.flatMap((account) =>
    account == null || account.budget === null
      ? []
      : [redisNames.account(account.owner, periodOf(account.budget.period, timeZone, startedAtMs))],
  );
}

/** Null for a record that cannot be read: it lets nobody in. */
function readAccount(read: () => Account): Account | null {
  try {
    return read();
  } catch {
    return null;
  }
}

export async function addSpent(
  { query }: Queries,
  spent: ReadonlyMap<string, number>,
  nowMs: number,
): Promise<void> {
  // In one order, so that no two who add wait for each other.
  const rows = [...spent].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (let at = 0; at < rows.length; at += ACCOUNTS_AT_ONCE) {
    const some = rows.slice(at, at + ACCOUNTS_AT_ONCE);
    await query(
      `insert into spent_accounts (name, micro_usd, changed_at) values ${placesOf(some.length, 3)}
       on conflict (name) do update set micro_usd = spent_accounts.micro_usd + excluded.micro_usd, changed_at = excluded.changed_at`,
      some.flatMap(([name, microUsd]) => [name, microUsd, nowMs]),
    );
  }
}

const Accounts = z.array(z.object({ name: z.string(), micro_usd: z.int() }));

/** What some accounts have spent. */
export async function readSpentOf(
  { query }: Queries,
  names: readonly string[],
): Promise<readonly { readonly name: string; readonly microUsd: number }[]> {
  const rows = await query(
    `select name, micro_usd from spent_accounts where name in ${placesOf(1, names.length)}`,
    names,
  );
  const spent = new Map(Accounts.parse(rows).map(({ name, micro_usd }) => [name, micro_usd]));
  return names.map((name) => ({ name, microUsd: spent.get(name) ?? 0 }));
}

/** The next accounts by name. */
export async function readSpent(
  { query }: Queries,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly { readonly name: string; readonly microUsd: number }[]> {
  const rows = await query(
    'select name, micro_usd from spent_accounts where name > $1 order by name limit $2',
    [after, limit],
  );
  return Accounts.parse(rows).map(({ name, micro_usd: microUsd }) => ({ name, microUsd }));
}
