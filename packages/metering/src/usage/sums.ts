import type { UsageRecord } from '@gateway/contracts/usage/usage-record';

/** What usage can be grouped by, in the order of a sum's field. */
export const GROUPS = ['keyId', 'team', 'model', 'channel', 'endpoint', 'outcome'] as const;
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

/** Separates the parts of a field; no id, name or model may hold it. */
const SEPARATOR = '\u001f';

export type Groups = Record<Group, string>;

/** The prefix of all fields of the same groups; the measure follows it. */
export const sumPrefix = (groups: Groups): string =>
  `${GROUPS.map((group) => groups[group].replaceAll(SEPARATOR, ' ')).join(SEPARATOR)}${SEPARATOR}`;

export const sumField = (groups: Groups, measure: Measure): string => sumPrefix(groups) + measure;

/** The parts of a field that `sumField` made; undefined for anything else. */
export function parseSumField(field: string): { groups: Groups; measure: Measure } | undefined {
  const parsed = parseField(field);
  const measure = MEASURES.find((name) => name === parsed?.rest);
  return parsed === undefined || measure === undefined ? undefined : { groups: parsed.groups, measure };
}

/** The groups of a field, and what follows its prefix; undefined for a field without such a prefix. */
export function parseField(field: string): { groups: Groups; rest: string } | undefined {
  const parts = field.split(SEPARATOR);
  const [keyId, team, model, channel, endpoint, outcome, rest] = parts;
  if (rest === undefined || parts.length !== GROUPS.length + 1) return undefined;
  if (keyId === undefined || team === undefined || model === undefined) return undefined;
  if (channel === undefined || endpoint === undefined || outcome === undefined) return undefined;
  return { groups: { keyId, team, model, channel, endpoint, outcome }, rest };
}

const SUCCEEDED = 'ok';

export const groupsOf = (record: UsageRecord): Groups => ({
  keyId: record.keyId,
  team: record.team ?? '',
  model: record.model,
  channel: record.channel ?? '',
  endpoint: record.endpoint,
  outcome: record.outcome,
});

/** What a record adds to its hour's sums: pairs of measure and increment, without zeros. */
export function sumsOf(record: UsageRecord): (string | number)[] {
  const { consumption } = record;
  const amounts: Record<Measure, number> = {
    requests: 1,
    failed: record.outcome === SUCCEEDED ? 0 : 1,
    refused: 0,
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
  return MEASURES.flatMap((measure) => (amounts[measure] === 0 ? [] : [measure, amounts[measure]]));
}
