import { Badge, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { sessionQuery } from '../../api/queries.ts';
import type { Session } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { Moment } from '../../parts/moment.tsx';
import { ListPage } from '../../parts/page/list-page.tsx';
import { csvWith } from '../../parts/table/csv.ts';
import type { Column } from '../../parts/table/virtual-table.tsx';

const METHODS: Readonly<Record<Session['method'], string>> = {
  token: 'with the admin token',
  key: 'with a key',
  oidc: 'with the identity provider',
  password: 'with a password',
};

const CSV = {
  file: 'sessions.csv',
  textOf: csvWith<Session>({
    Who: ({ name }) => name,
    Role: ({ role }) => role,
    'Signed in': ({ method }) => METHODS[method],
    Teams: ({ teams }) => teams?.join(' ') ?? null,
    Address: ({ address }) => address,
    Browser: ({ userAgent }) => userAgent,
    Created: ({ createdAt }) => createdAt,
    'Last used': ({ lastUsedAt }) => lastUsedAt,
    Ends: ({ expiresAt }) => expiresAt,
  }),
};

/** Who is signed in to the console, and the way to end that. */
export default function SessionsPage() {
  const { data: own } = useSuspenseQuery(sessionQuery);
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: () => bodyOf(api.GET('/admin/v1/sessions')),
  });
  const [ending, setEnding] = useState<Session>();

  const columns: readonly Column<Session>[] = [
    {
      id: 'who',
      header: 'Who',
      width: 'minmax(120px, 1fr)',
      onNarrow: true,
      cell: ({ id, name, role, method }) => (
        <Group gap="xs">
          <Text size="sm" fw={500} truncate>
            {name}
          </Text>
          <Badge variant="default" size="sm">
            {id === own.id ? 'you' : role}
          </Badge>
          <Text size="xs" c="dimmed">
            {METHODS[method]}
          </Text>
        </Group>
      ),
    },
    {
      id: 'from',
      header: 'From',
      width: 'minmax(160px, 2fr)',
      cell: ({ address, userAgent }) => (
        <>
          <Text size="sm">{address}</Text>
          <Text size="xs" c="dimmed" truncate title={userAgent ?? undefined}>
            {userAgent}
          </Text>
        </>
      ),
    },
    { id: 'used', header: 'Last used', width: '120px', cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
    { id: 'ends', header: 'Ends', width: '110px', cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
    {
      id: 'end',
      header: '',
      width: '70px',
      onNarrow: true,
      cell: (session) =>
        session.id !== own.id && (
          <Button size="compact-sm" variant="default" onClick={() => setEnding(session)}>
            End
          </Button>
        ),
    },
  ];

  return (
    <ListPage
      title="Sessions"
      about="Everyone who is signed in to this console."
      list={sessions}
      columns={columns}
      rows={sessions.data?.data ?? []}
      idOf={({ id }) => id}
      csv={CSV}
    >
      {ending && <EndSession session={ending} onClose={() => setEnding(undefined)} />}
    </ListPage>
  );
}

function EndSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/sessions/{id}', { params: { path: { id: session.id } } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['sessions'] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`End the session of ${session.name}?`}
      action="End session"
      isDangerous
      isPending={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        {session.name} is signed out, but can sign in again.{' '}
        {session.method === 'token' && (
          <>
            Change <code>GATEWAY_ADMIN_TOKEN</code> if someone knows it who should not.
          </>
        )}
        {session.method === 'key' && 'Disable or revoke the key to prevent that.'}
        {session.method === 'password' && 'Disable the person to prevent that.'}
        {session.method === 'oidc' && 'Remove the person from the group that gives the role to prevent that.'}
      </Text>
    </ConfirmDialog>
  );
}
