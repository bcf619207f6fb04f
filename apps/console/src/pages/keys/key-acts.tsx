import { Select, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import type { Key } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { keyChanged } from './keys-query.ts';
import type { ShownSecret } from './secret-dialog.tsx';

const GRACES = [
  { value: '0', label: 'No, it stops working now' },
  { value: '3600', label: 'For one hour' },
  { value: '86400', label: 'For one day' },
  { value: '604800', label: 'For one week' },
  { value: '2592000', label: 'For 30 days' },
];

interface RotateKeyProps {
  readonly of: Key;
  readonly onSecret: (shown: ShownSecret) => void;
  readonly onDone: () => void;
}

export function RotateKey({ of: key, onSecret, onDone }: RotateKeyProps) {
  const queries = useQueryClient();
  // Nothing is proposed: where the secret has leaked, each proposal but one is wrong.
  const [grace, setGrace] = useState<string | null>(null);
  const rotate = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST('/admin/v1/keys/{id}/rotate', {
          params: { path: { id: key.id } },
          body: { graceSeconds: Number(grace) },
        }),
      ),
    onSuccess: async ({ key: secret, ...changed }) => {
      await keyChanged(queries, changed);
      onDone();
      onSecret({ of: changed, secret, warnings: [] });
    },
  });
  return (
    <ConfirmDialog
      title={`Rotate the secret of ${key.name}?`}
      action="Rotate"
      isReady={grace !== null}
      isPending={rotate.isPending}
      error={rotate.error}
      onConfirm={() => rotate.mutate()}
      onClose={onDone}
    >
      <Stack gap="sm">
        <Text size="sm">
          The key keeps its settings, limits and usage. Its new secret is shown only once.
        </Text>
        <Select
          label="Keep the old secret working?"
          data={GRACES}
          placeholder="Choose"
          description="If it has leaked: no."
          value={grace}
          onChange={setGrace}
          allowDeselect={false}
        />
      </Stack>
    </ConfirmDialog>
  );
}

export function RevokeKey({ of: key, onDone }: { of: Key; onDone: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => bodyOf(api.DELETE('/admin/v1/keys/{id}', { params: { path: { id: key.id } } })),
    onSuccess: async (changed) => {
      await keyChanged(queries, changed);
      onDone();
    },
  });
  return (
    <ConfirmDialog
      title={`Revoke ${key.name}?`}
      action="Revoke"
      isDangerous
      typed={key.name}
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onDone}
    >
      <Text size="sm">
        Within a second, every request with this key is refused. This is permanent. To pause the key, disable
        it instead.
      </Text>
    </ConfirmDialog>
  );
}
