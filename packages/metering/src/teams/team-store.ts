import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Actor } from '../audit/audit-log.ts';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { type AccessRecords, type PageRequest, untilChanged } from '../keys/records/access-records.ts';
import type { TeamSettings } from '../keys/settings.ts';
import {
  newTeamRecord,
  parseTeamRecord,
  shownTeam,
  type TeamRecord,
  withTeamSettings,
} from './team-record.ts';

export interface TeamPage {
  readonly teams: readonly TeamRecord[];
  readonly next: string | null;
}

/**
 * Teams. A key is a member by naming the team. The audit log has every change, and every edge uses it within a second. Every
 * function throws a `GatewayError` `service_unavailable` where the records do not answer; the answer is undefined when there is no
 * such team. A record that cannot be read is reported, and counts as absent.
 */
export interface TeamStore {
  /** @throws {GatewayError} `conflict` if there is one of this name */
  createTeam(settings: TeamSettings, by: Actor): Promise<TeamRecord>;
  /** By name. */
  listTeams(page: PageRequest): Promise<TeamPage>;
  getTeam(name: string): Promise<TeamRecord | undefined>;
  /** `change` may be called again; if it throws, nothing changes. */
  updateTeam(
    name: string,
    change: (record: TeamRecord) => TeamSettings,
    by: Actor,
  ): Promise<TeamRecord | undefined>;
  /** Ends the team's limits and budget. What it has spent is kept for another team of the same name. */
  deleteTeam(name: string, by: Actor): Promise<TeamRecord | undefined>;
}

interface TeamStoreOptions {
  readonly records: AccessRecords;
  readonly now: () => number;
  readonly onBroken?: ReportBroken;
}

export function createTeamStore(options: TeamStoreOptions): TeamStore {
  const { records, now, onBroken = () => undefined } = options;
  const read = (name: string, text: string): TeamRecord | undefined =>
    readStored(text, parseTeamRecord, { kind: 'team', id: name }, onBroken);

  return {
    createTeam: async (settings, by) => {
      const record = newTeamRecord(settings, now());
      const created = await records.change({
        kind: 'team',
        id: record.name,
        before: null,
        after: record,
        by,
        audit: { action: 'team.created', before: null, after: shownTeam(record) },
      });
      if (created) return record;
      throw new GatewayError('conflict', {
        message: `The team '${record.name}' already exists. Change it with PATCH.`,
        path: ['name'],
      });
    },

    listTeams: async (page) => {
      const { records: found, next } = await records.list('team', page);
      return { teams: found.flatMap(({ id, text }) => read(id, text) ?? []), next };
    },

    getTeam: async (name) => {
      const text = await records.get('team', name);
      return text === null ? undefined : read(name, text);
    },

    updateTeam: (name, settingsFor, by) =>
      untilChanged(name, async () => {
        const text = await records.get('team', name);
        if (text === null) return { team: undefined };
        const before = read(name, text);
        if (before === undefined) return { team: undefined };
        const team = withTeamSettings(before, settingsFor(before));
        const changed = await records.change({
          kind: 'team',
          id: name,
          before: text,
          after: team,
          by,
          audit: { action: 'team.changed', before: shownTeam(before), after: shownTeam(team) },
        });
        return changed ? { team } : undefined;
      }).then(({ team }) => team),

    deleteTeam: (name, by) =>
      untilChanged(name, async () => {
        const text = await records.get('team', name);
        if (text === null) return { team: undefined };
        const team = read(name, text);
        if (team === undefined) return { team: undefined };
        const changed = await records.change({
          kind: 'team',
          id: name,
          before: text,
          after: null,
          by,
          audit: { action: 'team.deleted', before: shownTeam(team), after: null },
        });
        return changed ? { team } : undefined;
      }).then(({ team }) => team),
  };
}
