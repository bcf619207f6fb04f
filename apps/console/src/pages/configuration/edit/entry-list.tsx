import { Badge, Button, Group, Paper, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { SearchInput } from '../../../parts/search-input.tsx';
import classes from './edit.module.css';
import { membersOf, routesOf } from './edit-fields.ts';
import { type EditedEntry, EntryForm } from './entry-form.tsx';
import { NewModel } from './new-model.tsx';
import type { OpenDraft } from './use-draft.ts';

/** More are found by a part of their name. */
const MAX_SHOWN = 100;

interface EntryListProps {
  readonly draft: OpenDraft;
  readonly onAddProvider: () => void;
}

/** The models and channels of the draft; each opens its form. */
export function EntryList({ draft, onAddProvider }: EntryListProps) {
  const [opened, setOpened] = useState<EditedEntry | 'new model' | null>(null);
  const [search, setSearch] = useState('');
  const entries = draft.result?.entries;
  if (entries == null)
    return (
      <Text size="sm" c="dimmed">
        The draft is not YAML at the moment. Correct it under "Text".
      </Text>
    );
  const changed = new Set(draft.result?.changes.map(({ section, name }) => `${section} ${name}`));
  const sectionOf = (section: EditedEntry['section'], title: string) => {
    const found = Object.entries(entries[section]).filter(([name]) =>
      name.toLowerCase().includes(search.trim().toLowerCase()),
    );
    return (
      <Stack gap="xs" component="section" aria-label={title}>
        <Group justify="space-between">
          <Title order={2} size="h5">
            {title}
          </Title>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={section === 'models' ? () => setOpened('new model') : onAddProvider}
          >
            {section === 'models' ? 'New model' : 'Add a provider'}
          </Button>
        </Group>
        <Paper withBorder>
          {found.slice(0, MAX_SHOWN).map(([name, entry]) => (
            <UnstyledButton key={name} className={classes.entry} onClick={() => setOpened({ section, name })}>
              <Text span size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                {name}
              </Text>
              {changed.has(`${section} ${name}`) && (
                <Badge size="sm" variant="light" ml="xs">
                  changed
                </Badge>
              )}
              <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {section === 'models' ? aboutModel(entry) : aboutChannel(entry)}
              </Text>
            </UnstyledButton>
          ))}
          {found.length === 0 && (
            <Text size="sm" c="dimmed" p="sm">
              {search === '' ? `No ${section}` : `No matching ${section}`}
            </Text>
          )}
          {found.length > MAX_SHOWN && (
            <Text size="sm" c="dimmed" p="sm">
              {found.length - MAX_SHOWN} more. Search by name.
            </Text>
          )}
        </Paper>
      </Stack>
    );
  };
  return (
    <Stack>
      <Group>
        <SearchInput
          label="Search models and channels"
          placeholder="Search by name"
          value={search}
          onSearch={(text = '') => setSearch(text)}
        />
      </Group>
      {sectionOf('models', 'Models')}
      {sectionOf('channels', 'Channels')}
      {opened === 'new model' && <NewModel draft={draft} onClose={() => setOpened(null)} />}
      {opened !== null && typeof opened !== 'string' && (
        <EntryForm draft={draft} of={opened} onClose={() => setOpened(null)} />
      )}
    </Stack>
  );
}

function aboutModel(entry: unknown): string {
  const routes = routesOf(entry).map(({ channel, weight, priority }) =>
    [
      String(channel),
      ...(priority === undefined ? [] : [`priority ${priority}`]),
      ...(weight === undefined ? [] : [`weight ${weight}`]),
    ].join(', '),
  );
  return [String(membersOf(entry).kind), ...routes].join(' · ');
}

const aboutChannel = (entry: unknown): string => {
  const { provider, baseUrl } = membersOf(entry);
  return [provider, baseUrl].filter((one) => typeof one === 'string').join(' · ');
};
