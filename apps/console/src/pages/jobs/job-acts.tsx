import { Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import type { JobDetail } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { jobChanged } from './jobs-query.ts';

interface JobActProps {
  readonly of: JobDetail;
  readonly onDone: () => void;
}

export function CancelJob({ of: { id, status }, onDone }: JobActProps) {
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => bodyOf(api.POST('/admin/v1/jobs/{id}/cancel', { params: { path: { id } } })),
    onSuccess: async () => {
      await jobChanged(queries, id);
      onDone();
    },
  });
  return (
    <ConfirmDialog
      title="Cancel this job?"
      action="Cancel job"
      isDangerous
      isPending={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate()}
      onClose={onDone}
    >
      <Text size="sm">
        {status === 'queued'
          ? 'It will not be started. Its caller is told that it was cancelled.'
          : 'It is stopped immediately. Its caller is told that it was cancelled. The provider may charge for work that it has started.'}{' '}
        This cannot be undone.
      </Text>
    </ConfirmDialog>
  );
}

export function RequeueJob({ of: { id, keyId }, onDone }: JobActProps) {
  const queries = useQueryClient();
  const requeue = useMutation({
    mutationFn: () => bodyOf(api.POST('/admin/v1/jobs/{id}/requeue', { params: { path: { id } } })),
    onSuccess: async () => {
      await jobChanged(queries, id);
      onDone();
    },
  });
  return (
    <ConfirmDialog
      title="Requeue this job?"
      action="Requeue"
      isPending={requeue.isPending}
      error={requeue.error}
      onConfirm={() => requeue.mutate()}
      onClose={onDone}
    >
      <Text size="sm">
        Its work was certainly not done, so nothing is paid twice. It goes to the front of the queue, and its
        possible cost is reserved from <code>{keyId}</code> again.
      </Text>
    </ConfirmDialog>
  );
}
