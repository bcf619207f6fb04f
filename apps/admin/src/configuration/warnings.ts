import type { KeySettings } from '@gateway/metering/keys/settings';
import type { TeamStore } from '@gateway/metering/teams/team-store';
import { patternsOverlap } from '../../../../packages/contracts/src/models/model-pattern.ts';
import type { ReadConfiguration } from './read-configuration.ts';

export interface Warnings {
  /** Sentences about settings that are allowed but unlikely to be intended. */
  of(settings: KeySettings): Promise<readonly string[]>;
}

export function createWarnings({
  teams,
  readConfiguration,
}: {
  teams: TeamStore;
  readConfiguration: ReadConfiguration;
}): Warnings {
  const ofModels = async ({ models = [], limits }: KeySettings): Promise<string[]> => {
    const patterns = [...new Set([...models, ...Object.keys(limits?.models ?? {})])];
    if (patterns.length === 0) return [];
    const configuration = await readConfiguration();
    if (configuration === undefined)
      return ['The model patterns were not checked: the configuration cannot be read at the moment.'];
    return patterns
      .filter((wanted) => !configuration.models.some(({ pattern }) => patternsOverlap(wanted, pattern)))
      .map((wanted) => `The pattern '${wanted}' matches no model of the configuration.`);
  };
  const ofTeam = async ({ team }: KeySettings): Promise<string[]> =>
    team === undefined || (await teams.getTeam(team)) !== undefined
      ? []
      : [`There is no team '${team}' yet: the key has only its own limits until that team is created.`];
  return { of: async (settings) => [...(await ofModels(settings)), ...(await ofTeam(settings))] };
}
