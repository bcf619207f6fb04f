import { CloseButton, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';

interface SearchInputProps {
  /** What is searched, for those who cannot see it. */
  readonly label: string;
  readonly placeholder: string;
  readonly value: string | undefined;
  readonly size?: 'xs' | 'sm';
  /** Called after a pause in typing; undefined: nothing is searched. */
  readonly onSearch: (text: string | undefined) => void;
}

const PAUSE_MS = 250;

/** A field for a search that the admin service does. */
export function SearchInput({ label, placeholder, value, size = 'sm', onSearch }: SearchInputProps) {
  /** Undefined: nothing is being typed, and the field shows what is searched, also where a link or a saved view has set it. */
  const [typed, setTyped] = useState<string>();
  const text = typed ?? value ?? '';
  const search = useDebouncedCallback((wanted: string) => onSearch(wanted.trim() || undefined), PAUSE_MS);
  const type = (next: string): void => {
    setTyped(next);
    search(next);
  };
  const leave = (): void => {
    search.flush();
    setTyped(undefined);
  };
  return (
    <TextInput
      flex={size === 'xs' ? '1 1 130px' : '1 1 180px'}
      size={size}
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={size === 'xs' ? 14 : 16} aria-hidden />}
      rightSection={
        text !== '' && (
          <CloseButton
            size="sm"
            aria-label={`Clear: ${label.toLowerCase()}`}
            onClick={() => onSearch(undefined)}
          />
        )
      }
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={leave}
    />
  );
}
