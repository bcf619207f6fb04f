import { type Account, Budget, Limits } from '@gateway/contracts/identity';
import { z } from 'zod';
import { instant, name, shownBudget, type TeamSettings, toBudget } from '../keys/settings.ts';

/** A team as it is stored. Its members are the keys that name it. */
const TeamRecord = z.strictObject({
  version: z.literal(1),
  name,
  limits: Limits,
  budget: Budget.nullable(),
  createdAt: instant,
});
export type TeamRecord = z.infer<typeof TeamRecord>;

export const parseTeamRecord = (text: string): TeamRecord => TeamRecord.parse(JSON.parse(text));

export const newTeamRecord = (settings: TeamSettings, nowMs: number): TeamRecord => ({
  version: 1,
  name: settings.name,
  limits: settings.limits ?? {},
  budget: toBudget(settings.budget),
  createdAt: new Date(nowMs).toISOString(),
});

/** The record with other settings; its name stays. */
export const withTeamSettings = (record: TeamRecord, { limits, budget }: TeamSettings): TeamRecord => ({
  ...record,
  limits: limits ?? {},
  budget: toBudget(budget),
});

export const accountOfTeam = ({ name: team, limits, budget }: TeamRecord): Account => ({
  owner: `team:${team}`,
  limits,
  budget,
});

export const shownTeam = ({ version: _version, budget, ...rest }: TeamRecord) => ({
  ...rest,
  budget: budget === null ? null : shownBudget(budget),
});
export type ShownTeam = ReturnType<typeof shownTeam>;
