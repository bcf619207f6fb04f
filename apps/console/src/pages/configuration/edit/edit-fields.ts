import type { ConfigurationEdit, Model } from '../../../api/types.ts';
import { isModelKind } from '../../models/model-kinds.ts';

type Path = readonly (string | number)[];

/** A member of an entry that the form has a field for. Everything else is changed in the text. */
export interface Field {
  /** Below the entry. */
  readonly path: readonly string[];
  readonly label: string;
  /** Or what there is to choose from; the first one is what holds where the entry says nothing. */
  readonly kind: 'number' | 'text' | readonly { readonly value: string; readonly label: string }[];
  readonly description?: string;
}

const PER_MTOK = 'US dollars per million tokens';

const INPUT_PRICE: Field = {
  path: ['price', 'inputPerMTok'],
  label: 'Input price',
  kind: 'number',
  description: PER_MTOK,
};
const OUTPUT_PRICE: Field = {
  path: ['price', 'outputPerMTok'],
  label: 'Output price',
  kind: 'number',
  description: PER_MTOK,
};

/** By the kind of the model. */
const MODEL_FIELDS: Readonly<Record<Model['kind'], readonly Field[]>> = {
  text: [
    INPUT_PRICE,
    {
      path: ['price', 'cachedInputPerMTok'],
      label: 'Cached input price',
      kind: 'number',
      description: PER_MTOK,
    },
    OUTPUT_PRICE,
    {
      path: ['fallback', 'maxAttempts'],
      label: 'Most attempts',
      kind: 'number',
      description: 'For one request',
    },
    { path: ['contextWindow'], label: 'Context window', kind: 'number', description: 'In tokens' },
    { path: ['maxOutputTokens'], label: 'Longest output', kind: 'number', description: 'In tokens' },
  ],
  image: [
    { path: ['price', 'perImage'], label: 'Price', kind: 'number', description: 'US dollars per image' },
  ],
  speech: [
    {
      path: ['price', 'perMillionChars'],
      label: 'Price',
      kind: 'number',
      description: 'US dollars per million characters',
    },
  ],
  transcription: [
    { path: ['price', 'perMinute'], label: 'Price', kind: 'number', description: 'US dollars per minute' },
  ],
  embedding: [INPUT_PRICE],
  rerank: [
    INPUT_PRICE,
    {
      path: ['price', 'perThousandToolCalls', 'rerank_search'],
      label: 'Price of searches',
      kind: 'number',
      description: 'US dollars per thousand',
    },
  ],
  moderation: [INPUT_PRICE],
  realtime: [
    INPUT_PRICE,
    OUTPUT_PRICE,
    {
      path: ['price', 'audioInputPerMTok'],
      label: 'Input price of sound',
      kind: 'number',
      description: PER_MTOK,
    },
    {
      path: ['price', 'audioOutputPerMTok'],
      label: 'Output price of sound',
      kind: 'number',
      description: PER_MTOK,
    },
  ],
};

export const modelFields = (kind: string): readonly Field[] => (isModelKind(kind) ? MODEL_FIELDS[kind] : []);

export const ROUTE_FIELDS: readonly Field[] = [
  { path: ['model'], label: "Channel's own name of it", kind: 'text' },
  { path: ['priority'], label: 'Priority', kind: 'number', description: 'Lower first' },
  { path: ['weight'], label: 'Weight', kind: 'number', description: 'Within a priority' },
  { path: ['priceFactor'], label: 'Price factor', kind: 'number', description: 'Of the price' },
];

const COOLDOWN = 'cooldown';
export const CHANNEL_FIELDS: readonly Field[] = [
  {
    path: ['apiKey'],
    label: 'API key',
    kind: 'text',
    description: `An environment variable, as in \${OPENAI_API_KEY}`,
  },
  { path: ['baseUrl'], label: 'Base URL', kind: 'text', description: "If it is not the provider's own" },
  {
    path: ['maxConcurrent'],
    label: 'Concurrent requests',
    kind: 'number',
    description: 'Of each account, at most',
  },
  {
    path: [COOLDOWN, 'consecutiveFailures'],
    label: 'Rests after failures',
    kind: 'number',
    description: 'One after the other',
  },
  {
    path: [COOLDOWN, 'failureRate'],
    label: 'Rests from a failure rate of',
    kind: 'number',
    description: '0 to 1',
  },
  { path: [COOLDOWN, 'restSeconds'], label: 'First rest', kind: 'number', description: 'In seconds' },
  { path: [COOLDOWN, 'maxRestSeconds'], label: 'Longest rest', kind: 'number', description: 'In seconds' },
  {
    path: ['batches'],
    label: 'Batches',
    kind: [
      { value: '', label: 'Run by the gateway, line by line' },
      { value: 'provider', label: 'Sent whole to the provider' },
    ],
    description: 'Providers charge half, take up to a day, and store the lines',
  },
];

/** What stands in a field. */
export type FieldValue = string | number;

export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const valueAt = (entry: unknown, [first, ...rest]: readonly string[]): unknown =>
  first === undefined ? entry : valueAt(membersOf(entry)[first], rest);

/** What the entry has; undefined where a field cannot show it, such as prices by size. */
export function fieldValue(entry: unknown, { path }: Field): FieldValue | undefined {
  const value = valueAt(entry, path);
  if (value === undefined || value === null) return '';
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

/** Whether the field can be edited: something above it is no mapping, such as `cooldown: off`. */
export const isEditable = (entry: unknown, field: Field): boolean =>
  fieldValue(entry, field) !== undefined &&
  field.path.slice(0, -1).every((_, depth) => {
    const above = valueAt(entry, field.path.slice(0, depth + 1));
    return above === undefined || (typeof above === 'object' && above !== null);
  });

/** A field's value by its path. */
export type FieldValues = Readonly<Record<string, FieldValue>>;

export const fieldId = ({ path }: Field): string => path.join('.');

/** The edits that bring an entry to what stands in the fields. */
export function fieldEdits(
  at: Path,
  entry: unknown,
  fields: readonly Field[],
  values: FieldValues,
): ConfigurationEdit[] {
  return fields.flatMap((field): ConfigurationEdit[] => {
    const value = values[fieldId(field)];
    if (value === undefined || value === fieldValue(entry, field)) return [];
    const path = [...at, ...field.path];
    if (value === '') return [{ op: 'remove', path }];
    return [{ op: 'set', path, value }];
  });
}

/** An entry that consists of what stands in the fields. */
export function entryOf(fields: readonly Field[], values: FieldValues): Record<string, unknown> {
  const entry: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[fieldId(field)];
    if (value !== undefined && value !== '') Object.assign(entry, withMember(entry, field.path, value));
  }
  return entry;
}

const withMember = (entry: unknown, [first, ...rest]: readonly string[], value: FieldValue): object =>
  first === undefined
    ? membersOf(entry)
    : {
        ...membersOf(entry),
        [first]: rest.length === 0 ? value : withMember(membersOf(entry)[first], rest, value),
      };

export interface RouteValues {
  /** Where it stands in the configuration; null: it is new. */
  readonly index: number | null;
  readonly channel: string;
  readonly values: FieldValues;
}

export const routesOf = (model: unknown): readonly Readonly<Record<string, unknown>>[] => {
  const { routes } = membersOf(model);
  return Array.isArray(routes) ? routes.map(membersOf) : [];
};

/** The edits of a model's routes: of those that stay, those that are new, and last those that go, from the end. */
export function routeEdits(
  model: string,
  entry: unknown,
  wanted: readonly RouteValues[],
): ConfigurationEdit[] {
  const at = ['models', model, 'routes'];
  const old = routesOf(entry);
  const changed = wanted.flatMap(({ index, channel, values }): ConfigurationEdit[] => {
    if (index === null)
      return [{ op: 'add', path: at, value: { channel, ...entryOf(ROUTE_FIELDS, values) } }];
    const route = old[index];
    const path = [...at, index];
    const moved: ConfigurationEdit[] =
      route?.channel === channel ? [] : [{ op: 'set', path: [...path, 'channel'], value: channel }];
    return [...moved, ...fieldEdits(path, route, ROUTE_FIELDS, values)];
  });
  const stays = new Set(wanted.map(({ index }) => index));
  const removed = old
    .map((_, index) => index)
    .filter((index) => !stays.has(index))
    .toReversed()
    .map((index): ConfigurationEdit => ({ op: 'remove', path: [...at, index] }));
  return [...changed, ...removed];
}
