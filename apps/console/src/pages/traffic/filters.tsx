import { Button, Collapse, Pill, Group as Row, Select, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { milliseconds } from '../../parts/numbers.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import { KeySelect } from './key-select.tsx';
import type { REQUEST_MEMBERS, RequestFilter } from './request-filter.ts';
import {
  CALLERS,
  type CallerFilter,
  GROUP_LABELS,
  GROUPS,
  type Group,
  valueLabel,
  valuesQuery,
} from './usage-query.ts';

type Name = Group | CallerFilter | 'failed' | keyof typeof REQUEST_MEMBERS;
type Filtered = { readonly [Key in Name]?: RequestFilter[Key] | undefined };

interface FiltersProps {
  readonly of: Filtered;
  readonly change: (change: Filtered) => void;
}

const PLURALS: Readonly<Record<Group, string>> = {
  model: 'All models',
  team: 'All teams',
  keyId: 'All keys',
  channel: 'All channels',
  endpoint: 'All endpoints',
  outcome: 'All outcomes',
  errorCode: 'All error codes',
  status: 'All HTTP statuses',
};
const NO_VALUE = ' none ';
const FAILED = ' failed ';
/** Those that are shown at once. */
const FIRST: readonly Group[] = ['model', 'team', 'keyId', 'channel', 'endpoint', 'outcome'];
const FURTHER: readonly Exclude<Group, 'keyId'>[] = ['errorCode', 'status'];
const CALLER_LABELS: Readonly<Record<CallerFilter, string>> = {
  endUser: 'End user',
  session: 'Session',
  label: 'Label',
  owner: 'Key owner',
};

export const isFiltered = (only: Filtered): boolean =>
  [...GROUPS, ...CALLERS, 'failed' as const, ...PILLS.map(({ name }) => name)].some(
    (name) => only[name] !== undefined,
  );

/** What is set by links alone, and can be removed. */
const PILLS: readonly { name: keyof typeof REQUEST_MEMBERS; say: (value: string | number) => string }[] = [
  { name: 'minTotalMs', say: (ms) => `total time at least ${milliseconds(Number(ms))}` },
  { name: 'minFirstOutputMs', say: (ms) => `first output after ${milliseconds(Number(ms))} or more` },
  { name: 'attemptChannel', say: (channel) => `attempted at ${channel}` },
  { name: 'attemptOutcome', say: (outcome) => `an attempt was ${outcome}` },
];

/** Exact values of what requests are filtered by. */
export function Filters({ of, change }: FiltersProps) {
  const isSet = [...FURTHER, ...CALLERS].some((name) => of[name] !== undefined);
  const [isOpened, setOpened] = useState(isSet);
  // A link or a saved view may have set one: what a page is filtered by is seen.
  if (isSet && !isOpened) setOpened(true);
  const pills = PILLS.flatMap(({ name, say }) => {
    const value = of[name];
    return value === undefined ? [] : [{ name, text: say(value) }];
  });
  return (
    <Stack gap="xs" flex="1 1 auto">
      <Row gap="xs">
        {FIRST.map((group) =>
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
            <ValueFilter key={group} group={group} of={of} change={change} />
          ),
        )}
        <Button
          size="xs"
          variant="default"
          aria-expanded={isOpened}
          aria-controls="further-filters"
          disabled={isSet}
          onClick={() => setOpened(!isOpened)}
        >
          {isOpened ? 'Fewer filters' : 'More filters'}
        </Button>
      </Row>
      <Collapse expanded={isOpened} id="further-filters" transitionDuration={0}>
        <Row gap="xs">
          {isOpened &&
            FURTHER.map((group) => <ValueFilter key={group} group={group} of={of} change={change} />)}
          {isOpened &&
            CALLERS.map((name) => (
              <SearchInput
                key={name}
                size="xs"
                label={CALLER_LABELS[name]}
                placeholder={CALLER_LABELS[name]}
                value={of[name]}
                onSearch={(value) => change({ [name]: value })}
              />
            ))}
        </Row>
      </Collapse>
      {pills.length > 0 && (
        <Row gap="xs">
          {pills.map(({ name, text: said }) => (
            <Pill
              key={name}
              withRemoveButton
              removeButtonProps={{ 'aria-label': `Remove: ${said}`, 'aria-hidden': false, tabIndex: 0 }}
              onRemove={() => change({ [name]: undefined })}
            >
              {said}
            </Pill>
          ))}
        </Row>
      )}
    </Stack>
  );
}

interface ValueFilterProps extends FiltersProps {
  readonly group: Exclude<Group, 'keyId'>;
}

const COMMON = { flex: '1 1 120px', miw: 120, size: 'xs', searchable: true, clearable: true } as const;

function ValueFilter({ group, of, change }: ValueFilterProps) {
  const { data } = useQuery(valuesQuery(group));
  const value = of[group];
  const values = new Set(data?.rows.map((row) => row[group] ?? ''));
  if (value !== undefined) values.add(value);
  const failed = group === 'outcome' ? [{ value: FAILED, label: 'any failure' }] : [];
  const chosen = group === 'outcome' && of.failed === true ? FAILED : value;
  const choose = (one: string | null): void => {
    const exact = one === NO_VALUE ? '' : (one ?? undefined);
    if (group !== 'outcome') change({ [group]: exact });
    else if (one === FAILED) change({ outcome: undefined, failed: true });
    else change({ outcome: exact, failed: undefined });
  };
  return (
    <Select
      {...COMMON}
      aria-label={GROUP_LABELS[group]}
      placeholder={PLURALS[group]}
      nothingFoundMessage="No matches in the last 30 days"
      data={[
        ...failed,
        ...[...values]
          .toSorted()
          .map((one) => ({ value: one === '' ? NO_VALUE : one, label: valueLabel(group, one) })),
      ]}
      value={chosen === '' ? NO_VALUE : (chosen ?? null)}
      onChange={choose}
    />
  );
}
