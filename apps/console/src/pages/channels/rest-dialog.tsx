import { Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import type { Channel } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { notify } from '../../parts/notify.tsx';
import { channelsQuery } from './channels-query.ts';

const TIMES = [
  { value: '300', label: '5 minutes' },
  { value: '3600', label: 'One hour' },
  { value: '86400', label: 'One day' },
  { value: '', label: 'Until woken' },
];

interface RestDialogProps {
  readonly of: Channel;
  /** The model that is proposed. */
  readonly model?: string | null;
  readonly onClose: () => void;
}

/** Puts a channel, one of its accounts or one of its models to rest. */
export function RestDialog({ of: channel, model: proposed = null, onClose }: RestDialogProps) {
  const queries = useQueryClient();
  const [account, setAccount] = useState<string | null>(null);
  const [model, setModel] = useState(proposed);
  const [seconds, setSeconds] = useState('3600');
  const [reason, setReason] = useState('');
  const named = channel.models.filter((name) => !name.includes('*'));
  const rest = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST('/admin/v1/channels/{name}/rest', {
          params: { path: { name: channel.name } },
          body: {
            account,
            model,
            ...(seconds !== '' && { seconds: Number(seconds) }),
            ...(reason.trim() !== '' && { reason: reason.trim() }),
          },
        }),
      ),
    onSuccess: async ({ warnings }) => {
      await queries.invalidateQueries({ queryKey: channelsQuery.queryKey });
      for (const message of warnings) notify({ color: 'orange', title: 'Still in use', message });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Rest ${channel.name}?`}
      action="Rest"
      isPending={rest.isPending}
      error={rest.error}
      onConfirm={() => rest.mutate()}
      onClose={onClose}
    >
      <Stack gap="sm">
        <Text size="sm">
          Within a second, requests go elsewhere. Requests that no other channel can serve still go here; to
          prevent that, remove the route.
        </Text>
        <Select
          label="Account"
          placeholder="All accounts"
          data={channel.accounts.map(({ name }) => name)}
          value={account}
          onChange={setAccount}
          clearable
        />
        <Select
          label="Model"
          placeholder="All models"
          // The proposed one may be served by a pattern.
          data={[...new Set([...named, ...(proposed === null ? [] : [proposed])])]}
          value={model}
          onChange={setModel}
          clearable
          searchable
        />
        <Select
          label="Duration"
          data={TIMES}
          value={seconds}
          onChange={(value) => setSeconds(value ?? '')}
          allowDeselect={false}
        />
        <TextInput
          label="Reason"
          description="Shown here and in the audit log."
          maxLength={200}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </Stack>
    </ConfirmDialog>
  );
}
