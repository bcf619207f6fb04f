import { Alert, Button, Group, Stack } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Key } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { Moment } from '../../parts/moment.tsx';
import { PageLink } from '../../parts/page/page-link.tsx';
import { BalanceMeters } from '../balance-meters.tsx';
import { Facts, Names } from '../facts.tsx';
import { EraseContent } from '../requests/content/erase-content.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
import { RevokeKey, RotateKey } from './key-acts.tsx';
import { KeyForm } from './key-form.tsx';
import { type KeyValues, patchOf } from './key-values.ts';
import { keyBalanceQuery, keyChanged } from './keys-query.ts';
import type { ShownSecret } from './secret-dialog.tsx';

type Act = 'edit' | 'rotate' | 'revoke';

interface KeyPanelProps {
  readonly of: Key;
  readonly onSecret: (shown: ShownSecret) => void;
}

/** What a key may do, what is left of it, and what can be done with it. */
export function KeyPanel({ of: key, onSecret }: KeyPanelProps) {
  const [act, setAct] = useState<Act>();
  const done = () => setAct(undefined);
  return (
    <>
      {act === 'edit' ? <EditKey of={key} onDone={done} /> : <Shown of={key} onAct={setAct} />}
      {act === 'rotate' && <RotateKey of={key} onSecret={onSecret} onDone={done} />}
      {act === 'revoke' && <RevokeKey of={key} onDone={done} />}
    </>
  );
}

function Shown({ of: key, onAct }: { of: Key; onAct: (act: Act) => void }) {
  const balance = useQuery(keyBalanceQuery(key.id));
  const may = useMay();
  const mayChange = may('PATCH /admin/v1/keys/{id}');
  const facts: [string, ReactNode][] = [
    ['Team', key.team === null ? 'none' : <ValueLink key="team" group="team" value={key.team} />],
    ['Owner', key.owner === null ? 'none' : <KeysOf key="owner" owner={key.owner} />],
    ['Models', <Names key="models" of={key.models} />],
    ['Endpoints', <Names key="endpoints" of={key.endpoints} />],
    ['Priority', key.priority],
    ['Created', <Moment key="created" at={key.createdAt} />],
    ['Expires', key.expiresAt === null ? 'never' : <Moment key="expires" at={key.expiresAt} />],
    ...(key.revokedAt === null
      ? []
      : [['Revoked', <Moment key="revoked" at={key.revokedAt} />] satisfies [string, ReactNode]]),
    ...(key.oldSecretUntil === null
      ? []
      : [
          ['Old secret works until', <Moment key="old" at={key.oldSecretUntil} />] satisfies [
            string,
            ReactNode,
          ],
        ]),
    ['Webhook URL', key.webhookUrl ?? 'none'],
    ...Object.entries(key.labels),
  ];
  return (
    <Stack>
      {key.revokedAt === null && (
        <Group gap="xs">
          {mayChange && (
            <Button size="xs" variant="default" onClick={() => onAct('edit')}>
              Edit
            </Button>
          )}
          {may('POST /admin/v1/keys/{id}/rotate') && (
            <Button size="xs" variant="default" onClick={() => onAct('rotate')}>
              Rotate secret
            </Button>
          )}
          {mayChange && <DisableButton of={key} />}
          {may('DELETE /admin/v1/keys/{id}') && (
            <Button size="xs" variant="light" color="red" onClick={() => onAct('revoke')}>
              Revoke
            </Button>
          )}
        </Group>
      )}
      <CopyField label="Key ID" value={key.id} />
      <BalanceMeters of={key} balance={balance.data} />
      <Facts of={facts} />
      <Group gap="xs">
        <EraseContent of={{ keyId: key.id }} name={key.name} />
      </Group>
    </Stack>
  );
}

const KeysOf = ({ owner }: { owner: string }) => (
  <PageLink to="/keys" search={{ search: owner }}>
    {owner}
  </PageLink>
);

function DisableButton({ of: key }: { of: Key }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: () =>
      bodyOf(
        api.PATCH('/admin/v1/keys/{id}', {
          params: { path: { id: key.id } },
          body: { disabled: !key.disabled },
        }),
      ),
    onSuccess: ({ warnings: _, ...changed }) => keyChanged(queries, changed),
  });
  return (
    <>
      <Button size="xs" variant="default" loading={change.isPending} onClick={() => change.mutate()}>
        {key.disabled ? 'Enable' : 'Disable'}
      </Button>
      {change.error && (
        <Alert color="red" variant="light" role="alert">
          {change.error.message}
        </Alert>
      )}
    </>
  );
}

function EditKey({ of: key, onDone }: { of: Key; onDone: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (values: KeyValues) =>
      bodyOf(
        api.PATCH('/admin/v1/keys/{id}', { params: { path: { id: key.id } }, body: patchOf(values, key) }),
      ),
    onSuccess: async ({ warnings: _, ...changed }) => {
      await keyChanged(queries, changed);
      onDone();
    },
  });
  return (
    <KeyForm
      of={key}
      action="Save"
      isPending={change.isPending}
      error={change.error}
      onSubmit={change.mutate}
      onCancel={onDone}
    />
  );
}
