import type { UsageRecord } from '@gateway/contracts/usage/usage-record';

/** What usage can be grouped by. New ones are appended: digests of groups depend on the order. */
export const GROUPS = [
  ...(['keyId', 'team', 'model', 'channel', 'endpoint', 'outcome'] as const),
  ...(['errorCode', 'status'] as const),
] as const;
export type Group = (typeof GROUPS)[number];

/** What is summed. All are whole numbers. */
export const MEASURES = [
  'requests',
  'failed',
  'refused',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'reasoningTokens',
  'images',
  'characters',
  'audioMs',
  'costMicroUsd',
  'unpricedRequests',
] as const;
export type Measure = (typeof MEASURES)[number];

export const NO_SUMS: Readonly<Record<Measure, number>> = {
  requests: 0,
  failed: 0,
  refused: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  images: 0,
  characters: 0,
  audioMs: 0,
  costMicroUsd: 0,
  unpricedRequests: 0,
};

export type Groups = Record<Group, string>;

/** Of what is not grouped by. */
export const NO_GROUPS: Groups = {
  ...{ keyId: '', team: '', model: '', channel: '', endpoint: '', outcome: '' },
  ...{ errorCode: '', status: '' },
};

/**
 * Separates the parts of a field of the hours' sums, and of their latencies, that gateways kept in Redis before December 2026: the
 * groups in their order, then the measure or the bucket.
 */
const SEPARATOR = '\u001f';
const PARTS = 7;

/** The parts of a field of sums; undefined for anything else. */
export function parseSumField(field: string): { groups: Groups; measure: Measure } | undefined {
  const parsed = parseField(field);
  const measure = MEASURES.find((name) => name === parsed?.rest);
  return parsed === undefined || measure === undefined ? undefined : { groups: parsed.groups, measure };
}

/** The groups of a field, and what follows its prefix; undefined for a field without such a prefix. */
export function parseField(field: string): { groups: Groups; rest: string } | undefined {
  const parts = field.split(SEPARATOR);
  const [keyId, team, model, channel, endpoint, outcome, rest] = parts;
  if (rest === undefined || parts.length !== PARTS) return undefined;
  if (keyId === undefined || team === undefined || model === undefined) return undefined;
  if (channel === undefined || endpoint === undefined || outcome === undefined) return undefined;
  return { groups: { ...NO_GROUPS, keyId, team, model, channel, endpoint, outcome }, rest };
}

export const SUCCEEDED = 'ok';

export const groupsOf = (record: UsageRecord): Groups => ({
  keyId: record.keyId,
  team: record.team ?? '',
  model: record.model,
  channel: record.channel ?? '',
  endpoint: record.endpoint,
  outcome: record.outcome,
  errorCode: record.detail?.errorCode ?? '',
  status: String(record.detail?.status ?? ''),
});

/** What a record adds to its hour's sums, without zeros. */
export function sumsOf(record: UsageRecord): readonly (readonly [Measure, number])[] {
  const { consumption } = record;
  const amounts: Record<Measure, number> = {
    ...NO_SUMS,
    requests: 1,
    failed: record.outcome === SUCCEEDED ? 0 : 1,
    inputTokens: consumption.inputTokens,
    cachedInputTokens: consumption.cachedInputTokens,
    outputTokens: consumption.outputTokens,
    reasoningTokens: consumption.reasoningTokens,
    images: consumption.images,
    characters: consumption.characters,
    audioMs: consumption.audioMs,
    costMicroUsd: record.costMicroUsd ?? 0,
    unpricedRequests: record.costMicroUsd === null ? 1 : 0,
  };
  return MEASURES.map((measure) => [measure, amounts[measure]] as const).filter(([, amount]) => amount > 0);
}
