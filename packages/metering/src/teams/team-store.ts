import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Redis } from 'ioredis';
import type { Actor } from '../audit/audit-log.ts';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { awaitRedis } from '../keys/await-redis.ts';
import { createRecordChanger, untilChanged } from '../keys/records/record-changer.ts';
import { listRecords, type PageRequest } from '../keys/records/record-list.ts';
import type { TeamSettings } from '../keys/settings.ts';
import { keyNames } from '../redis-names.ts';
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
 * Teams in Redis. A key is a member by naming the team. The audit log has every change, and every edge uses it within a
 * second. Every function throws a `GatewayError` `service_unavailable` when Redis does not answer; the answer is
 * undefined when there is no such team. A record that cannot be read is reported, and counts as absent.
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
  readonly redis: Redis;
  readonly now: () => number;
  readonly onBroken?: ReportBroken;
}

export function createTeamStore(options: TeamStoreOptions): TeamStore {
  const { redis, now, onBroken = () => undefined } = options;
  const changeRecord = createRecordChanger({ redis, now });
  const read = (name: string, text: string): TeamRecord | undefined =>
    readStored(text, parseTeamRecord, { kind: 'team', id: name }, onBroken);
  const recordNames = (id: string) => ({ id, record: keyNames.team(id), index: keyNames.teams });

  return {
    createTeam: async (settings, by) => {
      const record = newTeamRecord(settings, now());
      const created = await changeRecord({
        ...recordNames(record.name),
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
      const { records, next } = await listRecords(
        redis,
        { index: keyNames.teams, nameOf: keyNames.team, order: 'by name' },
        page,
      );
      return { teams: records.flatMap(({ id, text }) => read(id, text) ?? []), next };
    },

    getTeam: async (name) => {
      const text = await awaitRedis(redis.get(keyNames.team(name)));
      return text === null ? undefined : read(name, text);
    },

    updateTeam: (name, settingsFor, by) =>
      untilChanged(name, async () => {
        const text = await awaitRedis(redis.get(keyNames.team(name)));
        if (text === null) return { team: undefined };
        const before = read(name, text);
        if (before === undefined) return { team: undefined };
        const team = withTeamSettings(before, settingsFor(before));
        const changed = await changeRecord({
          ...recordNames(name),
          before: text,
          after: team,
          by,
          audit: { action: 'team.changed', before: shownTeam(before), after: shownTeam(team) },
        });
        return changed ? { team } : undefined;
      }).then(({ team }) => team),

    deleteTeam: (name, by) =>
      untilChanged(name, async () => {
        const text = await awaitRedis(redis.get(keyNames.team(name)));
        if (text === null) return { team: undefined };
        const team = read(name, text);
        if (team === undefined) return { team: undefined };
        const changed = await changeRecord({
          ...recordNames(name),
          before: text,
          after: null,
          by,
          audit: { action: 'team.deleted', before: shownTeam(team), after: null },
        });
        return changed ? { team } : undefined;
      }).then(({ team }) => team),
  };
}
