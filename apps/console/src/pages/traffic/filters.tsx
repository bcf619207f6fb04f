import { Group as Row, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { KeySelect } from './key-select.tsx';
import { type Filter, GROUP_LABELS, GROUPS, type Group, valuesQuery } from './usage-query.ts';

const text = z.catch(z.optional(z.string()), undefined);

/** What an address says of filters. The empty text stands for none: no team, no channel. */
export const FILTER_MEMBERS = {
  model: text,
  team: text,
  keyId: text,
  channel: text,
  endpoint: text,
  outcome: text,
} satisfies Record<Group, typeof text>;

interface FiltersProps {
  readonly of: Filter;
  readonly change: (change: Filter) => void;
}

const PLURALS: Readonly<Record<Group, string>> = {
  model: 'All models',
  team: 'All teams',
  keyId: 'All keys',
  channel: 'All channels',
  endpoint: 'All endpoints',
  outcome: 'All outcomes',
};
const NO_VALUE = ' none ';

/** The name of a value for people: the empty one is none. */
export const valueLabel = (group: Group, value: string): string =>
  value === '' ? `no ${GROUP_LABELS[group].toLowerCase()}` : value;

export const isFiltered = (only: Filter): boolean => GROUPS.some((name) => only[name] !== undefined);

/** Exact values of what requests are filtered by. */
export const Filters = ({ of, change }: FiltersProps) => (
  <Row gap="xs" flex="1 1 auto">
    {GROUPS.map((group) =>
      group === 'keyId' ? (
        <KeySelect
          {...COMMON}
          key={group}
          aria-label={GROUP_LABELS.keyId}
          placeholder={PLURALS.keyId}
          chosenId={of.keyId}
          onChoose={(keyId) => change({ keyId })}
        />
      ) : (
        <ValueFilter
          key={group}
          group={group}
          value={of[group]}
          onChange={(value) => change({ [group]: value })}
        />
      ),
    )}
  </Row>
);

interface ValueFilterProps {
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

const COMMON = { flex: '1 1 120px', miw: 120, size: 'xs', searchable: true, clearable: true } as const;

function ValueFilter({ group, value, onChange }: ValueFilterProps & { group: Exclude<Group, 'keyId'> }) {
  const { data } = useQuery(valuesQuery(group));
  const values = new Set(data?.rows.map((row) => row[group] ?? ''));
  if (value !== undefined) values.add(value);
  return (
    <Select
      {...COMMON}
      aria-label={GROUP_LABELS[group]}
      placeholder={PLURALS[group]}
      nothingFoundMessage="No matches in the last 30 days"
      data={[...values]
        .toSorted()
        .map((one) => ({ value: one === '' ? NO_VALUE : one, label: valueLabel(group, one) }))}
      value={value === '' ? NO_VALUE : (value ?? null)}
      onChange={(chosen) => onChange(chosen === NO_VALUE ? '' : (chosen ?? undefined))}
    />
  );
}
