import type { Key } from '../../api/types.ts';
import { instantOf, timeZone, wallTime } from '../../parts/time-zone.ts';
import {
  type Amounts,
  amountsOf,
  type BudgetValues,
  budgetOf,
  budgetValuesOf,
  numberOrNull,
} from '../amounts.ts';
import { JOB_LIMITS, LIMITS } from '../limits.ts';

type Endpoint = NonNullable<Key['endpoints']>[number];

/** A limit of some models only. */
export interface ModelLimitValues extends Amounts {
  readonly pattern: string;
}

/** What the form of a key holds: texts and numbers as people type them, '' for what is not set. */
export interface KeyValues {
  readonly name: string;
  readonly team: string;
  readonly owner: string;
  readonly models: string[];
  readonly endpoints: Endpoint[];
  readonly limits: Amounts;
  readonly modelLimits: ModelLimitValues[];
  readonly budget: BudgetValues;
  /** As `<input type="datetime-local">` has it, in the zone that times are shown in. */
  readonly expiresAt: string;
  readonly priority: Key['priority'];
  /** `name=value` */
  readonly labels: string[];
  readonly webhookUrl: string;
}

const KEY_LIMITS = [...LIMITS, ...JOB_LIMITS].map(({ name }) => name);
/** Of the limits, those that can hold for some models only. */
export const MODEL_LIMITS = LIMITS.filter(({ name }) => name !== 'concurrentRequests');

export function valuesOf(key: Key | undefined): KeyValues {
  const { models: byModel = {}, ...limits } = key?.limits ?? {};
  return {
    name: key?.name ?? '',
    team: key?.team ?? '',
    owner: key?.owner ?? '',
    models: key?.models ?? [],
    endpoints: key?.endpoints ?? [],
    limits: amountsOf(KEY_LIMITS, limits),
    modelLimits: Object.entries(byModel).map(([pattern, own]) => ({
      pattern,
      ...amountsOf(
        MODEL_LIMITS.map(({ name }) => name),
        own,
      ),
    })),
    budget: budgetValuesOf(key?.budget ?? null),
    expiresAt: key?.expiresAt ? wallTime(Date.parse(key.expiresAt), timeZone()) : '',
    priority: key?.priority ?? 'normal',
    labels: Object.entries(key?.labels ?? {}).map(([name, value]) => `${name}=${value}`),
    webhookUrl: key?.webhookUrl ?? '',
  };
}

/** The body of a PATCH that makes `before` what the form says: null for what is not set. */
export function patchOf(values: KeyValues, before?: Key) {
  const limits = Object.fromEntries(KEY_LIMITS.map((name) => [name, numberOrNull(values.limits[name])]));
  const byModel = Object.fromEntries(
    values.modelLimits.map(({ pattern, ...amounts }) => [
      pattern,
      Object.fromEntries(MODEL_LIMITS.map(({ name }) => [name, numberOrNull(amounts[name])])),
    ]),
  );
  const labels = Object.fromEntries(values.labels.map(labelOf));
  return {
    name: values.name.trim(),
    team: textOrNull(values.team),
    owner: textOrNull(values.owner),
    models: listOrNull(values.models),
    endpoints: listOrNull(values.endpoints),
    limits: { ...limits, models: orNull({ ...removed(before?.limits.models, byModel), ...byModel }) },
    budget: budgetOf(values.budget),
    expiresAt:
      values.expiresAt === '' ? null : new Date(instantOf(values.expiresAt, timeZone())).toISOString(),
    priority: values.priority,
    labels: orNull({ ...removed(before?.labels, labels), ...labels }),
    webhookUrl: textOrNull(values.webhookUrl),
  };
}

const textOrNull = (text: string): string | null => text.trim() || null;
const listOrNull = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list);
const orNull = <T extends object>(members: T): T | null =>
  Object.keys(members).length === 0 ? null : members;

/** Null for each member that is gone: a merge patch removes by name. */
const removed = (before: object | undefined, after: object): Record<string, null> =>
  Object.fromEntries(
    Object.keys(before ?? {})
      .filter((name) => !(name in after))
      .map((name) => [name, null]),
  );

function labelOf(text: string): [string, string] {
  const at = text.indexOf('=');
  return at < 0 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}
