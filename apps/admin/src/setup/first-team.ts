import { TeamName } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { CommandError, createAdminClient } from '../cli/admin-client.ts';
import { UsageError } from '../cli/commands/options.ts';
import { findAdmin } from '../cli/find-admin.ts';
import type { CommandLine } from '../cli/run-command.ts';

/** A team that somebody begins with. */
export interface FirstTeam {
  readonly name: string;
  /** What it may spend in a month, in dollars; undefined: no budget. */
  readonly budgetUsd: number | undefined;
}

/** Of its first key. */
const KEY_NAME = 'first';
const Made = z.object({ key: z.string() });

/** @throws {UsageError} */
export function firstTeamIn(name: string | undefined, budget: string | undefined): FirstTeam | undefined {
  if (name === undefined || name === '') {
    if (budget) throw new UsageError('--budget is that of the team that --team names.');
    return undefined;
  }
  const checked = TeamName.safeParse(name);
  if (!checked.success)
    throw new UsageError(
      `'${name.slice(0, 100)}' is no name of a team: ${checked.error.issues[0]?.message}.`,
    );
  const budgetUsd = budget ? Number(budget) : undefined;
  if (budgetUsd !== undefined && !(budgetUsd > 0 && Number.isFinite(budgetUsd)))
    throw new UsageError(`'${budget}' is no budget: dollars a month, such as 100.`);
  return { name, budgetUsd };
}

/**
 * Makes a team and its first key where a gateway runs already. Resolves to what a person then reads: the key, which is shown only
 * here, or the commands that make them later.
 */
export async function beginTeam(
  team: FirstTeam | undefined,
  { env, fetch, userName }: Pick<CommandLine, 'env' | 'fetch' | 'userName'>,
): Promise<readonly string[]> {
  if (team === undefined) return commandsFor({ name: 'NAME', budgetUsd: 100 });
  const admin = await orNull(findAdmin(env, fetch));
  if (admin === null) return commandsFor(team);
  const client = createAdminClient({ fetch, actor: userName, ...admin });
  const { name, budgetUsd } = team;
  try {
    const budget = budgetUsd === undefined ? {} : { budget: { usd: budgetUsd, period: 'month' } };
    await client.call('POST', '/admin/v1/teams', {}, { name, ...budget });
    const { key } = Made.parse(
      await client.call('POST', '/admin/v1/keys', {}, { name: KEY_NAME, team: name }),
    );
    return [`  The team '${name}' is made. Its first key, which is shown only once:`, `  ${key}`];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [`  The team '${name}' has no key yet: ${error.message}`, ...commandsFor(team)];
  }
}

const commandsFor = ({ name, budgetUsd }: FirstTeam): string[] => {
  const quoted = /\s/.test(name) ? `'${name}'` : name;
  const budget = budgetUsd === undefined ? '' : ` --budget ${budgetUsd} --period month`;
  return [
    `  npm run gateway -- teams create ${quoted}${budget}`,
    `  npm run gateway -- keys create --team ${quoted} --name PROGRAM`,
  ];
};

/** Null: no gateway runs here. */
const orNull = <Result>(found: Promise<Result>): Promise<Result | null> =>
  found.catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
