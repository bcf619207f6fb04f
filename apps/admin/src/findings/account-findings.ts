import type { Account } from '@gateway/contracts/identity';
import { accountOfKey } from '@gateway/metering/keys/key-record';
import { accountOfTeam } from '@gateway/metering/teams/team-record';
import { type Found, found } from './finding.ts';
import type { FindingSources } from './read-findings.ts';
import { percent, sentence } from './wording.ts';

const DAY_MS = 86_400_000;
const AT_ONCE = 200;
/** So many keys that expire are listed: more of them are no news one by one. */
const MAX_EXPIRING = 500;
/** A share is reached where it is nearly so: money is counted in millionths. */
const NEARLY = 1e-9;

interface Budgeted {
  readonly kind: 'key' | 'team';
  readonly id: string;
  readonly name: string;
  readonly team: string | null;
  readonly account: Account;
}

/** Budgets of keys that work, and of teams, of which the first share is spent or reserved. */
export async function budgetFindings(sources: FindingSources): Promise<Found[]> {
  const { budgetShares } = await sources.thresholds();
  const all: Found[] = [];
  for await (const page of budgeted(sources)) {
    const balances = await sources.readBalances(page.map(({ account }) => ({ ...account, limits: {} })));
    for (const [at, { kind, id, name, team }] of page.entries()) {
      const budget = balances[at]?.budget ?? null;
      if (budget === null || budget.usd <= 0) continue;
      const used = (budget.spentUsd + budget.reservedUsd) / budget.usd;
      const step = budgetShares.filter((share) => used >= share - NEARLY).length;
      if (step === 0) continue;
      const isSpent = used >= 1 - NEARLY;
      const whose = kind === 'key' ? `the key '${name}'` : `the team '${name}'`;
      all.push(
        found({
          kind: isSpent ? 'budget_spent' : 'budget_near',
          // It goes from one kind to the other, and stays the same.
          id: `budget ${kind} ${id}`,
          subject: id,
          sentence: isSpent
            ? `The budget of ${whose} is spent: its requests are refused.`
            : `${percent(used)} of the budget of ${whose} is spent or reserved.`,
          comparison: `$${money(budget.spentUsd + budget.reservedUsd)} of $${money(budget.usd)} ${PERIODS[budget.period]}.`,
          affects:
            kind === 'team' ? 'All keys of the team.' : team === null ? null : sentence(`team ${team}`),
          advice:
            budget.period === 'total'
              ? 'Raise the budget, or leave it: this one does not start over.'
              : 'Raise the budget, or wait until it starts over.',
          about: { teams: team === null ? [] : [team], keyId: kind === 'key' ? id : null },
          until: budget.resetsAt,
          isUrgent: isSpent,
          whose: { keyId: kind === 'key' ? id : '', team },
          step,
        }),
      );
    }
  }
  return all;
}

const PERIODS: Readonly<Record<string, string>> = {
  day: 'a day',
  week: 'a week',
  month: 'a month',
  total: 'in all',
};

const money = (usd: number): string =>
  usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: usd < 1 ? 4 : 2 });

/** Keys and teams with a budget, page by page. */
async function* budgeted({ keys, teams, now }: FindingSources): AsyncGenerator<Budgeted[]> {
  for (let after: string | undefined, more = true; more; ) {
    const only = { hasBudget: true, states: { of: ['active' as const], nowMs: now() } };
    const page = await keys.listKeys({ limit: AT_ONCE, after, only });
    yield page.keys.map((key) => ({
      kind: 'key',
      id: key.id,
      name: key.name,
      team: key.team,
      account: accountOfKey(key),
    }));
    after = page.next ?? undefined;
    more = page.next !== null;
  }
  for (let after: string | undefined, more = true; more; ) {
    const page = await teams.listTeams({ limit: AT_ONCE, after, only: { hasBudget: true } });
    yield page.teams.map((team) => {
      const { name } = team;
      return { kind: 'team', id: name, name, team: name, account: accountOfTeam(team) };
    });
    after = page.next ?? undefined;
    more = page.next !== null;
  }
}

/** Keys that work and expire soon. */
export async function expiringKeys({ keys, now, thresholds }: FindingSources): Promise<Found[]> {
  const { keyExpiryDays } = await thresholds();
  const nowMs = now();
  const only = { expiresBy: nowMs + keyExpiryDays * DAY_MS, states: { of: ['active' as const], nowMs } };
  const all: Found[] = [];
  for (let after: string | undefined, more = true; more && all.length < MAX_EXPIRING; ) {
    const page = await keys.listKeys({ limit: AT_ONCE, after, only });
    for (const { id, name, team, owner, expiresAt } of page.keys)
      all.push(
        found({
          kind: 'key_expiring',
          subject: id,
          sentence: `The key '${name}' expires soon: its requests are refused from then on.`,
          affects:
            [team === null ? [] : [`Team ${team}.`], owner === null ? [] : [`Owner: ${owner}.`]]
              .flat()
              .join(' ') || null,
          advice: 'Give its owner another key, or set a later date.',
          about: { teams: team === null ? [] : [team], keyId: id },
          until: expiresAt,
          whose: { keyId: id, team },
        }),
      );
    after = page.next ?? undefined;
    more = page.next !== null;
  }
  return all;
}
