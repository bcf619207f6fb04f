import { Group, Loader, Stack, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { api, bodyOf } from '../../api/client.ts';
import { sessionQuery } from '../../api/queries.ts';
import type { Roles } from '../../api/types.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { SearchInput } from '../../parts/search-input.tsx';
import classes from './roles-page.module.css';

const Search = z.object({ search: z.catch(z.optional(z.string()), undefined) });

/** Who may see and do what: the table by which the admin service refuses calls. */
export default function RolesPage() {
  const { search, change } = usePageSearch(Search);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { data, error, refetch } = useQuery({
    queryKey: ['roles'],
    queryFn: () => bodyOf(api.GET('/admin/v1/roles')),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Stack gap="md">
      <PageHeader
        title="Who may see what"
        about="Roles, and the calls that each may make. A team role sees its teams only, a key holder its key."
      />
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {data === undefined && !error && <Loader role="status" aria-label="Loading" />}
      {data && (
        <>
          <RoleList of={data.roles} own={session.role} />
          <Group>
            <SearchInput
              label="Search actions"
              placeholder="Such as rotate, export or people"
              value={search.search}
              onSearch={(text) => change({ search: text })}
            />
          </Group>
          {groupsOf(data.calls, search.search ?? '').map(([area, calls]) => (
            <Matrix key={area} area={area} calls={calls} roles={data.roles} />
          ))}
        </>
      )}
    </Stack>
  );
}

type Call = Roles['calls'][number];

/** By the first part of their paths, in the order of the table. Calls that anybody may make are of no role. */
function groupsOf(calls: readonly Call[], text: string): (readonly [string, readonly Call[]])[] {
  const wanted = text.toLowerCase();
  const shown = calls.filter(
    ({ roles, summary, path }) => roles.length > 0 && `${summary} ${path}`.toLowerCase().includes(wanted),
  );
  return [...Map.groupBy(shown, ({ path }) => path.split('/')[3] ?? '')];
}

const RoleList = ({ of, own }: { of: Roles['roles']; own: string }) => (
  <Table.ScrollContainer minWidth={310}>
    <Table aria-label="Roles">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Role</Table.Th>
          <Table.Th>May</Table.Th>
          <Table.Th>Sees</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map(({ name, about, sees }) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">
              {name}
              {name === own && ' (you)'}
            </Table.Th>
            <Table.Td>{about}</Table.Td>
            <Table.Td>{sees}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

interface MatrixProps {
  readonly area: string;
  readonly calls: readonly Call[];
  readonly roles: Roles['roles'];
}

const titleOf = (area: string): string => area.charAt(0).toUpperCase() + area.slice(1).replaceAll('-', ' ');

function Matrix({ area, calls, roles }: MatrixProps) {
  return (
    <section aria-label={titleOf(area)}>
      <Title order={2} size="h5" mb={4}>
        {titleOf(area)}
      </Title>
      <Table.ScrollContainer minWidth={680}>
        <Table aria-label={titleOf(area)} className={classes.matrix} verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Action</Table.Th>
              {roles.map(({ name }) => (
                <Table.Th key={name} className={classes.role}>
                  {name}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {calls.map((call) => (
              <Table.Tr key={`${call.method} ${call.path}`}>
                <Table.Td>
                  <Text size="sm">{call.summary}</Text>
                  <Text size="xs" c="dimmed" ff="monospace" className={classes.path}>
                    {call.method} {call.path}
                  </Text>
                </Table.Td>
                {roles.map(({ name }) => (
                  <Table.Td key={name} className={classes.role}>
                    {call.roles.includes(name) ? (
                      <>
                        <IconCheck size={16} aria-hidden />
                        <VisuallyHidden>yes</VisuallyHidden>
                      </>
                    ) : (
                      <Text span size="sm" c="dimmed">
                        <span aria-hidden>–</span>
                        <VisuallyHidden>no</VisuallyHidden>
                      </Text>
                    )}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </section>
  );
}
