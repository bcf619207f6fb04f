import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { KeyState } from '../keys/key-state.tsx';
import { keysQuery } from '../keys/keys-query.ts';
import { useKeyNames } from './key-name.tsx';

interface KeySelectProps extends Omit<SelectProps, 'data' | 'value' | 'onChange'> {
  /** The id of the chosen key. */
  readonly chosenId: string | undefined;
  readonly onChoose: (id: string | undefined) => void;
  /** Only keys in this state are found; absent: all. */
  readonly state?: KeyState;
}

const SEARCH_DELAY_MS = 250;
/** More keys are looked for until so many are found; and no more are offered than somebody reads. */
const [FEW, SHOWN] = [20, 100];

/** One key, by its name. The admin service searches: there may be tens of thousands. */
export function KeySelect({ chosenId, onChoose, state, ...select }: KeySelectProps) {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), SEARCH_DELAY_MS);
  const chosen = useKeyNames(chosenId === undefined ? [] : [chosenId]);
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(
    keysQuery({ search: chosen.get(chosenId ?? '') === search ? '' : search, state }),
  );
  const keys = data?.pages.flatMap((page) => page.data) ?? [];
  // One answer may stop before it has looked through all keys.
  const goesOn = hasNextPage && !isFetching && keys.length < FEW;
  useEffect(() => {
    if (goesOn) void fetchNextPage();
  }, [goesOn, fetchNextPage]);
  const names = new Map(keys.slice(0, SHOWN).map(({ id, name }) => [id, name]));
  if (chosenId !== undefined) names.set(chosenId, chosen.get(chosenId) ?? chosenId);
  return (
    <Select
      searchable
      nothingFoundMessage={isFetching || goesOn ? 'Searching …' : 'No matching keys'}
      {...select}
      data={[...names].map(([id, label]) => ({ value: id, label }))}
      filter={({ options }) => options}
      value={chosenId ?? null}
      onSearchChange={setTyped}
      onChange={(id) => onChoose(id ?? undefined)}
    />
  );
}
