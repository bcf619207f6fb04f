import { List, Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import type { Configuration, Draft } from '../../../api/types.ts';
import { ConfirmDialog } from '../../../parts/confirm-dialog.tsx';
import { configurationChanged, configurationQuery } from '../configuration-query.ts';
import { tellInUse } from '../tell-in-use.ts';

interface SaveDraftProps {
  readonly of: Draft;
  /** The revision that the draft began with. */
  readonly base: number;
  /** What the field says at first. */
  readonly proposedReason?: string;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

const MAX_LISTED = 10;

/** Asks why, and makes the draft the configuration of all services. */
export function SaveDraft({
  of: { text, changes },
  base,
  proposedReason = '',
  onSaved,
  onClose,
}: SaveDraftProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState(proposedReason);
  const save = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST('/admin/v1/configuration/revisions', {
          body: { base, text, reason: reason.trim() },
        }),
      ),
    onSuccess: async ({ number }) => {
      onSaved();
      onClose();
      tellInUse(number);
      await configurationChanged(queries);
    },
  });
  return (
    <ConfirmDialog
      title="Apply this draft?"
      action="Apply"
      isReady={reason.trim() !== ''}
      isPending={save.isPending}
      error={save.error}
      onConfirm={() => save.mutate()}
      onClose={onClose}
    >
      <Stack gap="sm">
        <Text size="sm">
          All services follow within two seconds. Requests in flight finish as they began. Secrets that the
          draft contains are sealed and never shown again.
        </Text>
        {base === 0 && <Replaced />}
        {changes.length > 0 && (
          <List size="sm" spacing={2}>
            {changes.slice(0, MAX_LISTED).map((change) => (
              <List.Item key={change.text} style={{ overflowWrap: 'anywhere' }}>
                {change.text}
              </List.Item>
            ))}
            {changes.length > MAX_LISTED && <List.Item>{changes.length - MAX_LISTED} more</List.Item>}
          </List>
        )}
        <Textarea
          label="Reason"
          description="Shown in the history and in the audit log."
          required
          maxLength={500}
          autosize
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value.replaceAll('\n', ' '))}
          data-autofocus
        />
      </Stack>
    </ConfirmDialog>
  );
}

const SOURCES: Readonly<Partial<Record<Configuration['source'], string>>> = {
  simulator: 'the built-in simulator',
  environment: 'the provider keys of its environment',
};

/** What a first configuration takes the place of. */
function Replaced() {
  const { data } = useQuery(configurationQuery);
  const source = data && SOURCES[data.source];
  if (source === undefined) return null;
  return (
    <Text size="sm" fw={600}>
      The gateway currently uses {source} with {data?.models === 1 ? '1 model' : `${data?.models} models`}.
      This draft replaces all of that: models that are not in it are no longer served.
    </Text>
  );
}
