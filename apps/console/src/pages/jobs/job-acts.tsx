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
      action="Cancel the job"
      isDangerous
      isPending={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate()}
      onClose={onDone}
    >
      <Text size="sm">
        {status === 'queued'
          ? 'It is not begun, and its caller is told that it was cancelled.'
          : 'It is stopped at once, and its caller is told that it was cancelled. What its provider has begun may be charged.'}{' '}
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
      title="Queue this job again?"
      action="Queue again"
      isPending={requeue.isPending}
      error={requeue.error}
      onConfirm={() => requeue.mutate()}
      onClose={onDone}
    >
      <Text size="sm">
        It certainly was not done, so nothing is paid twice. It goes before all that waits, and what it may
        cost is reserved from <code>{keyId}</code> again.
      </Text>
    </ConfirmDialog>
  );
}
