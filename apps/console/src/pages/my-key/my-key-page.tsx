import { Group, SimpleGrid, Stack } from '@mantine/core';
import { useInfiniteQuery, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { sessionQuery } from '../../api/queries.ts';
import { Moment } from '../../parts/moment.tsx';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { VirtualTable } from '../../parts/table/virtual-table.tsx';
import { BalanceMeters } from '../balance-meters.tsx';
import { Facts, Names } from '../facts.tsx';
import { keyBalanceQuery, keyQuery } from '../keys/keys-query.ts';
import { Part } from '../life/part.tsx';
import { modelsQuery } from '../models/models-query.ts';
import { priceSummary } from '../models/price-lines.ts';
import { Figures } from '../overview/figures.tsx';
import { COLUMNS } from '../requests/columns.tsx';
import { requestsQuery } from '../requests/requests-query.ts';
import { RangePicker } from '../traffic/range-picker.tsx';
import { RANGE_MEMBERS } from '../traffic/time-range.ts';

const Search = z.object(RANGE_MEMBERS);
const FALLBACK = '30d';
const MAX_REQUESTS = 8;
const MAX_MODELS = 12;

/** What a key's holder wants to know of it: what is left, what was used, what it may use. */
export default function MyKeyPage() {
  const { search, change } = usePageSearch(Search);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const id = session.keyId ?? '';
  const key = useQuery(keyQuery(id));
  const balance = useQuery(keyBalanceQuery(id));

  return (
    <Stack gap="md">
      <PageHeader
        title={key.data?.name ?? 'My key'}
        about="What remains of your limits and budget, and what was used."
      >
        <Group gap="sm">
          <PageLink to="/playground">Try it in the playground</PageLink>
          <RangePicker of={search} fallback={FALLBACK} change={change} />
        </Group>
      </PageHeader>
      {key.error && <PageFailed error={key.error} reset={() => void key.refetch()} />}
      <Figures range={search} fallback={FALLBACK} />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        <Part title="Remaining">
          {key.data && <BalanceMeters of={key.data} balance={balance.data} />}
          {key.data && (
            <Facts
              of={[
                ['Team', key.data.team ?? 'none'],
                ['Endpoints', <Names key="endpoints" of={key.data.endpoints} />],
                [
                  'Expires',
                  key.data.expiresAt === null ? 'never' : <Moment key="expires" at={key.data.expiresAt} />,
                ],
              ]}
            />
          )}
        </Part>
        <Part title="Models">
          <Models />
        </Part>
      </SimpleGrid>
      <Part title="Latest requests">
        <LatestRequests />
      </Part>
    </Stack>
  );
}

function Models() {
  const { data: models = [], error, refetch } = useQuery(modelsQuery);
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  return (
    <>
      <Facts
        of={models
          .slice(0, MAX_MODELS)
          .map(({ name, price }) => [name, price === null ? 'no price' : priceSummary(price)])}
      />
      <PageLink to="/models">All models</PageLink>
    </>
  );
}

function LatestRequests() {
  const requests = useInfiniteQuery(requestsQuery({ range: FALLBACK }));
  if (requests.error) return <PageFailed error={requests.error} reset={() => void requests.refetch()} />;
  return (
    <>
      <VirtualTable
        label="Latest requests"
        columns={COLUMNS.filter(({ id }) => id !== 'key')}
        rows={(requests.data?.pages[0]?.data ?? []).slice(0, MAX_REQUESTS)}
        idOf={({ id }) => id}
        isLoading={requests.isPending}
      />
      <PageLink to="/requests">All requests</PageLink>
    </>
  );
}
