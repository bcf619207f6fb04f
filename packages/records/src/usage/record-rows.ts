import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { EntryId } from '@gateway/metering/usage/outbox';
import { z } from 'zod';
import type { SqlValue } from '../database/database.ts';
import { storable } from './usage-groups.ts';

/** A record and its place among all, by `placeOf`. */
export interface PlacedRecord {
  readonly id: EntryId;
  readonly record: UsageRecord;
}

/** The members of a consumption that have columns of their own. */
const COLUMNS_OF_CONSUMPTION = new Set([
  ...['inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'cacheWrite1hTokens', 'outputTokens'],
  ...['reasoningTokens', 'images', 'characters', 'audioMs'],
]);

/** All others, which few records have. */
function furtherOf(consumption: UsageRecord['consumption']): string | null {
  const further = Object.entries(consumption).filter(([name]) => !COLUMNS_OF_CONSUMPTION.has(name));
  return further.length === 0 ? null : storable(JSON.stringify(Object.fromEntries(further)));
}

const nameOf = (name: string | undefined): string | null => (name === undefined ? null : storable(name));

/** The columns of a record, and what each holds of it. */
const WRITTEN: Readonly<Record<string, (placed: PlacedRecord, groupId: number) => SqlValue>> = {
  ended_at: ({ id }) => id.ms,
  ended_seq: ({ id }) => id.seq,
  id: ({ record }) => storable(record.id),
  request_id: ({ record }) => (record.requestId === undefined ? null : storable(record.requestId)),
  started_at: ({ record }) => record.startedAtMs,
  group_id: (_, groupId) => groupId,
  has_team: ({ record }) => Number(record.team !== null),
  has_channel: ({ record }) => Number(record.channel !== null),
  attempts: ({ record }) => record.attempts,
  duration_ms: ({ record }) => record.durationMs,
  first_byte_ms: ({ record }) => record.firstByteMs,
  input_tokens: ({ record }) => record.consumption.inputTokens,
  cached_input_tokens: ({ record }) => record.consumption.cachedInputTokens,
  cache_write_tokens: ({ record }) => record.consumption.cacheWriteTokens,
  cache_write1h_tokens: ({ record }) => record.consumption.cacheWrite1hTokens ?? null,
  output_tokens: ({ record }) => record.consumption.outputTokens,
  reasoning_tokens: ({ record }) => record.consumption.reasoningTokens,
  images: ({ record }) => record.consumption.images,
  characters: ({ record }) => record.consumption.characters,
  audio_ms: ({ record }) => record.consumption.audioMs,
  further_consumption: ({ record }) => furtherOf(record.consumption),
  estimated: ({ record }) => Number(record.estimated),
  cost_micro_usd: ({ record }) => record.costMicroUsd,
  end_user: ({ record }) => nameOf(record.endUser),
  session: ({ record }) => nameOf(record.session),
  label: ({ record }) => nameOf(record.label),
  detail: ({ record }) => (record.detail === undefined ? null : storable(JSON.stringify(record.detail))),
};

export const RECORD_COLUMNS = Object.keys(WRITTEN);

export const rowOf = (placed: PlacedRecord, groupId: number): SqlValue[] =>
  Object.values(WRITTEN).map((write) => write(placed, groupId));

/** What a query of records selects; joined with the groups. */
export const SELECTED = `${RECORD_COLUMNS.map((name) => `r.${name}`).join(', ')}, g.key_id, g.team, g.model, g.channel, g.endpoint, g.outcome`;

const RecordRow = z.record(z.string(), z.unknown());
const Place = z.object({ ended_at: z.int(), ended_seq: z.int() });

/** The record of a row that was so selected. */
export function recordOf(row: unknown): PlacedRecord {
  const { ended_at: ms, ended_seq: seq } = Place.parse(row);
  const columns = RecordRow.parse(row);
  const record = {
    id: columns.id,
    keyId: columns.key_id,
    team: columns.has_team === 1 ? columns.team : null,
    endpoint: columns.endpoint,
    model: columns.model,
    startedAtMs: columns.started_at,
    ...(columns.request_id !== null && { requestId: columns.request_id }),
    ...(columns.end_user !== null && { endUser: columns.end_user }),
    ...(columns.session !== null && { session: columns.session }),
    ...(columns.label !== null && { label: columns.label }),
    outcome: columns.outcome,
    channel: columns.has_channel === 1 ? columns.channel : null,
    attempts: columns.attempts,
    durationMs: columns.duration_ms,
    firstByteMs: columns.first_byte_ms,
    consumption: {
      inputTokens: columns.input_tokens,
      cachedInputTokens: columns.cached_input_tokens,
      cacheWriteTokens: columns.cache_write_tokens,
      ...(columns.cache_write1h_tokens !== null && { cacheWrite1hTokens: columns.cache_write1h_tokens }),
      outputTokens: columns.output_tokens,
      reasoningTokens: columns.reasoning_tokens,
      images: columns.images,
      characters: columns.characters,
      audioMs: columns.audio_ms,
      ...(typeof columns.further_consumption === 'string' && JSON.parse(columns.further_consumption)),
    },
    estimated: columns.estimated === 1,
    costMicroUsd: columns.cost_micro_usd,
    ...(typeof columns.detail === 'string' && { detail: JSON.parse(columns.detail) }),
  };
  return { id: { ms, seq }, record: UsageRecord.parse(record) };
}
