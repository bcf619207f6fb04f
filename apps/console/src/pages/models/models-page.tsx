import { Badge, Checkbox, CloseButton, Group, Select, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { IconBox, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import * as z from 'zod/mini';
import type { Model } from '../../api/types.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { ListPage } from '../../parts/page/list-page.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SideDrawer } from '../../parts/side-drawer.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { lifeHref, ValueLink } from '../traffic/value-link.tsx';
import { isModelKind, MODEL_KIND_CHOICES } from './model-kinds.ts';
import { ModelPanel } from './model-panel.tsx';
import { modelsQuery } from './models-query.ts';
import { priceSummary } from './price-lines.ts';

const Search = z.object({
  search: z.catch(z.optional(z.string()), undefined),
  kind: z.catch(z.optional(z.custom<Model['kind']>((kind) => isModelKind(String(kind)))), undefined),
  /** Only models without a price. */
  unpriced: z.catch(z.optional(z.boolean()), undefined),
  /** The model that is open. */
  model: z.catch(z.optional(z.string()), undefined),
});

/** The catalogue: every model that callers can use, with where it goes and what it costs. */
export default function ModelsPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const list = useQuery(modelsQuery);
  const models = list.data ?? [];
  const text = search.search?.toLowerCase() ?? '';
  const rows = models.filter(
    ({ name, kind, price, routes }) =>
      (search.kind === undefined || kind === search.kind) &&
      (!search.unpriced || price === null) &&
      [name, ...routes.map(({ channel }) => channel)].some((one) => one.toLowerCase().includes(text)),
  );
  const unpriced = models.filter(({ price }) => price === null).length;
  const opened = models.find(({ name }) => name === search.model);

  return (
    <ListPage
      title="Models"
      about="The models that callers can use, where requests go, and what they cost."
      filters={
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
            data={MODEL_KIND_CHOICES}
            clearable
            value={search.kind ?? null}
            onChange={(kind) => change({ kind: kind !== null && isModelKind(kind) ? kind : undefined })}
          />
          <Checkbox
            label={`Without a price (${unpriced})`}
            checked={search.unpriced ?? false}
            onChange={(event) => change({ unpriced: event.currentTarget.checked || undefined })}
          />
        </Group>
      }
      list={list}
      empty={{
        icon: IconBox,
        title: models.length === 0 ? 'No models' : 'No matching models',
        children:
          models.length === 0
            ? 'Add one to gateway.yaml. No restart is needed.'
            : 'Search for part of a model or channel name, or remove a filter.',
      }}
      columns={COLUMNS.filter(({ id }) => id !== 'routes' || models.some(({ routes }) => routes.length > 0))}
      rows={rows}
      idOf={({ name }) => name}
      onOpen={({ name }) => open({ model: name })}
      csv={CSV}
    >
      {opened && (
        <SideDrawer onClose={() => close('model')} title={<Text fw={600}>{opened.name}</Text>}>
          <Stack>
            <PageLink to={lifeHref('model', opened.name)}>Usage, speed and errors of this model</PageLink>
            <ModelPanel of={opened} />
          </Stack>
        </SideDrawer>
      )}
    </ListPage>
  );
}

const CSV = {
  file: 'models.csv',
  textOf: csvWith<Model>({
    Model: ({ name }) => name,
    'Configuration entry': ({ pattern }) => pattern,
    Kind: ({ kind }) => kind,
    'Channels, in order': ({ routes }) => channelsInOrder(routes).join(' '),
    'Context window': ({ contextWindow }) => contextWindow,
    'Max. output': ({ maxOutputTokens }) => maxOutputTokens,
    Price: ({ price }) => (price === null ? null : priceSummary(price)),
  }),
};

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
            from the pattern {pattern}
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
        {channelsInOrder(routes).map((channel, at) => (
          <Fragment key={channel}>
            {at > 0 && ', '}
            <ValueLink group="channel" value={channel} look="plain" />
          </Fragment>
        ))}
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
          label="Keys with a budget cannot use it unless the budget allows models without a price."
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

const channelsInOrder = (routes: Model['routes']): readonly string[] => [
  ...new Set(routes.toSorted((a, b) => a.priority - b.priority).map(({ channel }) => channel)),
];
