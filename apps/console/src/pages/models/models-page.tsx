import { Badge, Checkbox, CloseButton, Group, Select, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { IconBox, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import type { Model } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { wholeNumber } from '../../parts/numbers.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { type Column, VirtualTable } from '../../parts/table/virtual-table.tsx';
import { ModelDetails } from './model-details.tsx';
import { modelsQuery } from './models-query.ts';
import { priceSummary } from './price-lines.ts';

const KINDS = ['text', 'image', 'speech', 'transcription'] as const;

const Search = z.object({
  search: z.catch(z.optional(z.string()), undefined),
  kind: z.catch(z.optional(z.enum(KINDS)), undefined),
  /** Only models without a price. */
  unpriced: z.catch(z.optional(z.boolean()), undefined),
  /** The model that is open. */
  model: z.catch(z.optional(z.string()), undefined),
});

/** The catalogue: every model that callers can use, with where it goes and what it costs. */
export default function ModelsPage() {
  const [search, change] = usePageSearch(Search);
  const { data: models = [], error, isPending, refetch } = useQuery(modelsQuery);
  const text = search.search?.toLowerCase() ?? '';
  const rows = models.filter(
    ({ name, kind, price, routes }) =>
      (search.kind === undefined || kind === search.kind) &&
      (!search.unpriced || price === null) &&
      [name, ...routes.map(({ channel }) => channel)].some((one) => one.toLowerCase().includes(text)),
  );
  const unpriced = models.filter(({ price }) => price === null).length;
  const open = models.find(({ name }) => name === search.model);

  return (
    <Stack gap={0}>
      <PageHeader title="Models" about="What callers can name, where it goes, and what it costs." />
      <Group mb="md" gap="sm">
        <TextInput
          flex="1 1 220px"
          aria-label="Search models"
          placeholder="Model or channel"
          leftSection={<IconSearch size={16} aria-hidden />}
          rightSection={
            text !== '' && (
              <CloseButton
                size="sm"
                aria-label="Clear the search"
                onClick={() => change({ search: undefined })}
              />
            )
          }
          value={search.search ?? ''}
          onChange={(event) => change({ search: event.currentTarget.value || undefined })}
        />
        <Select
          flex="0 1 170px"
          aria-label="Kind"
          placeholder="All kinds"
          data={[...KINDS]}
          clearable
          value={search.kind ?? null}
          onChange={(kind) => change({ kind: KINDS.find((one) => one === kind) })}
        />
        <Checkbox
          label={`Without a price (${unpriced})`}
          checked={search.unpriced ?? false}
          onChange={(event) => change({ unpriced: event.currentTarget.checked || undefined })}
        />
      </Group>
      {error ? (
        <PageFailed error={error} reset={() => void refetch()} />
      ) : rows.length === 0 && !isPending ? (
        <EmptyState icon={IconBox} title={models.length === 0 ? 'No models' : 'No model like this'}>
          {models.length === 0
            ? 'Add one to gateway.yaml; it takes effect while the gateway runs.'
            : 'Search for a part of a name or of a channel, or remove a filter.'}
        </EmptyState>
      ) : (
        <VirtualTable
          label="Models"
          columns={COLUMNS.filter(
            ({ id }) => id !== 'routes' || models.some(({ routes }) => routes.length > 0),
          )}
          rows={rows}
          idOf={({ name }) => name}
          onOpen={({ name }) => change({ model: name })}
          isLoading={isPending}
        />
      )}
      {open && <ModelDetails of={open} onClose={() => change({ model: undefined })} />}
    </Stack>
  );
}

const COLUMNS: readonly Column<Model>[] = [
  {
    id: 'name',
    header: 'Model',
    width: 'minmax(0, 1.6fr)',
    onNarrow: true,
    cell: ({ name, pattern }) => (
      <>
        <Text size="sm" fw={500} truncate>
          {name}
        </Text>
        {pattern !== name && (
          <Text size="xs" c="dimmed" truncate>
            by the pattern {pattern}
          </Text>
        )}
      </>
    ),
  },
  { id: 'kind', header: 'Kind', width: '104px', cell: ({ kind }) => <Text size="sm">{kind}</Text> },
  {
    id: 'routes',
    header: 'Channels, in order',
    width: 'minmax(0, 1.4fr)',
    cell: ({ routes }) => (
      <Text size="sm" truncate>
        {channelsInOrder(routes)}
      </Text>
    ),
  },
  {
    id: 'window',
    header: 'Context',
    width: '100px',
    cell: ({ contextWindow }) => (
      <Text size="sm">{contextWindow === null ? '–' : wholeNumber(contextWindow)}</Text>
    ),
  },
  {
    id: 'price',
    header: 'Price',
    width: 'minmax(150px, 1fr)',
    onNarrow: true,
    cell: ({ price }) =>
      price === null ? (
        <Tooltip
          label="Keys with a budget cannot use it, unless their budget allows models without a price."
          multiline
          w={260}
        >
          <Badge color="orange" variant="dot">
            no price
          </Badge>
        </Tooltip>
      ) : (
        <Text size="sm">{priceSummary(price)}</Text>
      ),
  },
];

const channelsInOrder = (routes: Model['routes']): string =>
  routes
    .toSorted((a, b) => a.priority - b.priority)
    .map(({ channel }) => channel)
    .join(', ');
