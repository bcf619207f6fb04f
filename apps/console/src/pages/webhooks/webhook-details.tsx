import { Button, Group, Stack, Text, Timeline, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Webhook } from '../../api/types.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { CopyField } from '../../parts/copy-field.tsx';
import { DetailsDrawer } from '../../parts/details-drawer.tsx';
import { exactTime, Moment } from '../../parts/moment.tsx';
import { milliseconds } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import { Facts } from '../facts.tsx';
import { ValueLink } from '../traffic/value-link.tsx';
import { outcomeOf, WebhookStatusBadge } from './webhook-status.tsx';
import { webhookQuery } from './webhooks-query.ts';

/** One webhook: where it went, what its receiver said to each attempt, and sending it again. */
export function WebhookDetails({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data: webhook, error, refetch } = useQuery(webhookQuery(id));
  return (
    <DetailsDrawer
      of={webhook}
      kind="Webhook"
      titleOf={({ url }) => url ?? 'Not sent yet'}
      badge={(one) => <WebhookStatusBadge of={one} />}
      error={error}
      onRetry={() => void refetch()}
      onClose={onClose}
    >
      {(one) => <Shown of={one} />}
    </DetailsDrawer>
  );
}

function Shown({ of: webhook }: { of: Webhook }) {
  const may = useMay();
  const [isAsking, setAsking] = useState(false);
  return (
    <Stack>
      {may('POST /admin/v1/webhooks/{id}/replay') && (
        <Group>
          <Button size="xs" variant="light" onClick={() => setAsking(true)}>
            Send again
          </Button>
        </Group>
      )}
      <CopyField label="Webhook ID" value={webhook.id} />
      <Facts
        of={[
          ['Receiver', webhook.url ?? 'chosen when it is sent'],
          [
            'Job',
            <PageLink key="job" to="/jobs" search={{ job: webhook.jobId }}>
              {webhook.jobId}
            </PageLink>,
          ],
          ['Key', <ValueLink key="key" group="keyId" value={webhook.keyId} />],
          ['Job ended', <Moment key="created" at={webhook.createdAt} />],
          ...(webhook.nextAttemptAt === null
            ? []
            : [['Next attempt', <Moment key="next" at={webhook.nextAttemptAt} />] as const]),
        ]}
      />
      <Title order={2} size="h5">
        Attempts
      </Title>
      {webhook.attempts.length === 0 ? (
        <Text size="sm" c="dimmed">
          None yet.
        </Text>
      ) : (
        <Timeline bulletSize={14} lineWidth={2} active={webhook.attempts.length - 1}>
          {webhook.attempts.map((attempt) => (
            <Timeline.Item key={attempt.at} title={outcomeOf(attempt)} fz="sm">
              <Text size="xs" c="dimmed">
                <time dateTime={attempt.at}>{exactTime(attempt.at)}</time>, {milliseconds(attempt.durationMs)}
              </Text>
            </Timeline.Item>
          ))}
        </Timeline>
      )}
      {isAsking && <SendAgain of={webhook} onDone={() => setAsking(false)} />}
    </Stack>
  );
}

function SendAgain({ of: { id, status }, onDone }: { of: Webhook; onDone: () => void }) {
  const queries = useQueryClient();
  const replay = useMutation({
    mutationFn: () => bodyOf(api.POST('/admin/v1/webhooks/{id}/replay', { params: { path: { id } } })),
    onSuccess: async () => {
      await Promise.all(
        [['webhook', id], ['webhooks']].map((queryKey) => queries.invalidateQueries({ queryKey })),
      );
      onDone();
    },
  });
  return (
    <ConfirmDialog
      title="Send this webhook again?"
      action="Send again"
      isPending={replay.isPending}
      error={replay.error}
      onConfirm={() => replay.mutate()}
      onClose={onDone}
    >
      <Text size="sm">
        {status === 'delivered' && 'The receiver already has it. '}
        It is sent immediately under the same ID, and retried for another day. It goes where the key’s
        receiver is now.
      </Text>
    </ConfirmDialog>
  );
}
