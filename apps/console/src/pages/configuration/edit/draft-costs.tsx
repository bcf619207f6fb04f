import { List, SegmentedControl, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import type { DraftCosts as Costs } from '../../../api/types.ts';
import { cost } from '../../../parts/numbers.ts';
import { PageFailed } from '../../../parts/page/page-failed.tsx';

const costsQuery = (text: string) =>
  queryOptions({
    queryKey: ['configuration-draft', 'costs', text],
    queryFn: () => bodyOf(api.POST('/admin/v1/configuration/draft/costs', { body: { text } })),
    // It is not kept once the page is left.
    gcTime: 0,
  });

type By = 'model' | 'team' | 'route';

const HEIGHT = 132;

/** What the requests of the last week would have cost under a draft without mistakes. */
export function DraftCosts({ of }: { of: string }) {
  const { data, error, refetch } = useQuery(costsQuery(of));
  return (
    <Stack gap="sm" component="section" aria-label="In dollars">
      <Title order={2} size="h5">
        In dollars
      </Title>
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton h={HEIGHT} />}
      {data && <Compared of={data} />}
    </Stack>
  );
}

function Compared({ of }: { of: Costs }) {
  const [by, setBy] = useState<By>('model');
  if (of.requests === 0)
    return (
      <Text size="sm" c="dimmed">
        The requests of the last 7 days would have cost the same.
      </Text>
    );
  const rows = rowsOf(of)[by];
  return (
    <>
      {of.byModel.length > 0 && <Text size="sm">{totalOf(of)}</Text>}
      {of.sentences.length > 0 && (
        <List size="sm" spacing={4}>
          {of.sentences.map((sentence) => (
            <List.Item key={sentence} style={{ overflowWrap: 'anywhere' }}>
              {sentence}
            </List.Item>
          ))}
        </List>
      )}
      {of.notes.map((note) => (
        <Text key={note} size="sm" c="dimmed">
          {note}
        </Text>
      ))}
      {rows.length > 0 && (
        <>
          <SegmentedControl
            aria-label="Costs by"
            size="xs"
            style={{ alignSelf: 'flex-start' }}
            data={[
              { value: 'model', label: 'By model' },
              { value: 'team', label: 'By team' },
              { value: 'route', label: 'By route' },
            ]}
            value={by}
            onChange={(chosen) => setBy(GROUPS.find((one) => one === chosen) ?? 'model')}
          />
          <Table withTableBorder>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{TITLES[by]}</Table.Th>
                <Table.Th ta="end">Now</Table.Th>
                <Table.Th ta="end">Draft</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(({ name, beforeMicroUsd, afterMicroUsd }) => (
                <Table.Tr key={name}>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{name}</Table.Td>
                  <Table.Td ta="end">{cost(beforeMicroUsd)}</Table.Td>
                  <Table.Td ta="end">{cost(afterMicroUsd)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </>
      )}
    </>
  );
}

const GROUPS: readonly By[] = ['model', 'team', 'route'];
const TITLES: Readonly<Record<By, string>> = { model: 'Model', team: 'Team', route: 'Route' };

const rowsOf = ({ byModel, byTeam, byRoute }: Costs) => ({
  model: byModel.map((row) => ({ ...row, name: row.model })),
  team: byTeam.map((row) => ({ ...row, name: row.team ?? 'No team' })),
  route: byRoute.map((row) => ({ ...row, name: `${row.model} at ${row.channel}` })),
});

function totalOf({ compared, beforeMicroUsd, afterMicroUsd }: Costs): string {
  const requests = `${compared.toLocaleString('en')} ${compared === 1 ? 'request' : 'requests'} of the last 7 days`;
  return `${requests}: ${cost(beforeMicroUsd)} at the prices in use, ${cost(afterMicroUsd)} under the draft.`;
}
