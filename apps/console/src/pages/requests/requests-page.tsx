import { Alert, Button, Group, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconHistory, IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import * as z from 'zod/mini';
import type { ShownRequest } from '../../api/types.ts';
import { ListPage } from '../../parts/page/list-page.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SavedViews } from '../../parts/page/saved-views.tsx';
import { ExportMenu } from '../traffic/export-menu.tsx';
import { Filters, isFiltered } from '../traffic/filters.tsx';
import { RangePicker } from '../traffic/range-picker.tsx';
import { FILTER_MEMBERS, REQUEST_MEMBERS } from '../traffic/request-filter.ts';
import { isCustom, RANGE_MEMBERS } from '../traffic/time-range.ts';
import { COLUMNS } from './columns.tsx';
import { requestFilterOf, requestIdIn, requestsQuery } from './requests-query.ts';
import { type RequestTail, useRequestTail } from './use-request-tail.ts';

/** What is opened beside the list comes when it is. */
const RequestDetails = lazy(() =>
  import('./request-details.tsx').then((all) => ({ default: all.RequestDetails })),
);

const EraseContent = lazy(() =>
  import('./content/erase-content.tsx').then((all) => ({ default: all.EraseContent })),
);

const Search = z.object({
  ...RANGE_MEMBERS,
  ...FILTER_MEMBERS,
  ...REQUEST_MEMBERS,
  /** A part of a request id. */
  id: z.catch(z.optional(z.string()), undefined),
  /** Whether requests are shown as they end. */
  live: z.catch(z.optional(z.boolean()), undefined),
  /** The request that is open, by any of its ids. */
  request: z.catch(z.optional(z.string()), undefined),
});

/** Every request that has ended: by filter, as it ends, and by the id that its caller got. */
export default function RequestsPage() {
  const { search, change, open, close } = usePageSearch(Search);
  const { live: isLive = false, request } = search;
  const queries = useQueryClient();
  const query = new URLSearchParams(requestFilterOf(search)).toString();
  const readAgain = useCallback(() => void queries.invalidateQueries({ queryKey: ['requests'] }), [queries]);
  const tail = useRequestTail({ isOn: isLive, query, onOpen: readAgain });
  const list = useInfiniteQuery(requestsQuery(search));
  const pages = list.data?.pages ?? NO_PAGES;
  const rows = useMemo(() => {
    const listed = pages.flatMap(({ data }) => data);
    return withoutRepeats([...tail.rows, ...listed], tail.held);
  }, [pages, tail.rows, tail.held]);
  const openRequest = useCallback(({ id }: ShownRequest) => open({ request: id }), [open]);
  // A filter that selects few would otherwise search through everything by itself.
  const isNarrowed = isFiltered(search) || search.id !== undefined;
  const isSparse = list.hasNextPage && pages.at(-1)?.data.length === 0;

  return (
    <ListPage
      title="Requests"
      about="What happened to each request."
      action={
        <Group gap="xs">
          <SavedViews page="/requests" without={['request']} />
          <ExportMenu of={search} />
          <Switch
            label="Live"
            checked={isLive}
            onChange={(event) =>
              change(
                event.currentTarget.checked
                  ? { live: true, range: undefined, from: undefined, to: undefined }
                  : { live: undefined },
              )
            }
          />
        </Group>
      }
      filters={
        <>
          <Stack gap="xs" mb="md">
            <Group gap="xs">
              <IdSearch
                id={search.id}
                onChange={(id) => change({ id })}
                onOpen={(id) => open({ request: id })}
              />
              {!isLive && <RangePicker of={search} fallback="30d" change={change} />}
            </Group>
            <Filters of={search} change={change} />
            {search.endUser !== undefined && (
              <Suspense>
                <Group gap="xs">
                  <EraseContent of={{ endUser: search.endUser }} name={search.endUser} />
                </Group>
              </Suspense>
            )}
          </Stack>
          {isLive && <TailState of={tail} />}
        </>
      }
      list={list}
      hasMore={list.hasNextPage && !isSparse}
      empty={{
        icon: IconHistory,
        title: isNarrowed ? 'No matching requests' : 'No requests yet',
        children:
          isNarrowed || isCustom(search)
            ? 'Remove a filter or choose a longer period. A request is listed once it has ended, unless it was refused at once.'
            : 'Send one to the gateway with any key. It is listed here once it has ended.',
      }}
      columns={COLUMNS}
      rows={rows}
      idOf={({ id }) => id}
      onOpen={openRequest}
    >
      {isSparse && (
        <Group justify="center" mt="md">
          <Button
            variant="default"
            size="xs"
            loading={list.isFetching}
            onClick={() => void list.fetchNextPage()}
          >
            Search further back
          </Button>
        </Group>
      )}
      {request !== undefined && (
        <Suspense>
          <RequestDetails
            id={request}
            known={rows.find(({ id }) => id === request)}
            onClose={() => close('request')}
          />
        </Suspense>
      )}
    </ListPage>
  );
}

const NO_PAGES: { data: ShownRequest[] }[] = [];

/** Each row once; without those that are held back. */
function withoutRepeats(rows: readonly ShownRequest[], held: readonly ShownRequest[]): ShownRequest[] {
  const isHeld = new Set(held.map(({ id }) => id));
  const byId = new Map(rows.filter(({ id }) => !isHeld.has(id)).map((row) => [row.id, row]));
  return [...byId.values()];
}

interface IdSearchProps {
  readonly id: string | undefined;
  readonly onChange: (id: string | undefined) => void;
  readonly onOpen: (id: string) => void;
}

/** A part of an id filters; a whole one, or a client's error that names one, opens the request. */
function IdSearch({ id, onChange, onOpen }: IdSearchProps) {
  /** Undefined: nothing is being typed, and what is filtered by is shown. */
  const [typed, setTyped] = useState<string>();
  const text = typed ?? id ?? '';
  return (
    <form
      style={{ flex: '1 1 260px' }}
      onSubmit={(event) => {
        event.preventDefault();
        const found = requestIdIn(text);
        if (found !== undefined) onOpen(found);
      }}
    >
      <TextInput
        size="xs"
        aria-label="Request ID"
        placeholder="Request ID, or an error that contains one"
        leftSection={<IconSearch size={14} aria-hidden />}
        value={text}
        onBlur={() => setTyped(undefined)}
        onChange={({ currentTarget: { value } }) => {
          setTyped(value);
          onChange(requestIdIn(value) ?? (value.trim() || undefined));
        }}
      />
    </form>
  );
}

const STATES: Readonly<Record<RequestTail['state'], string>> = {
  connecting: 'Connecting …',
  open: 'Requests are shown as they end.',
  failed:
    'Could not open the live list. Too many may be open: close another one, then turn this one on again.',
};

function TailState({ of: { state, held, skipped, showHeld } }: { of: RequestTail }) {
  return (
    <Alert
      variant="light"
      color={state === 'failed' ? 'red' : 'teal'}
      mb="md"
      py="xs"
      role="status"
      aria-label="Live list"
    >
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="var(--mantine-color-text)">
          {STATES[state]}
          {skipped > 0 && ` At least ${skipped} were skipped. They appear when the list is reloaded.`}
        </Text>
        {held.length > 0 && (
          <Button size="compact-sm" variant="default" onClick={showHeld} pos="sticky">
            Show {held.length} new
          </Button>
        )}
      </Group>
    </Alert>
  );
}
