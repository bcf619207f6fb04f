import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { type Call, useMay } from '../../api/permissions.ts';
import type { Finding } from '../../api/types.ts';
import { notify } from '../../parts/notify.tsx';
import { channelsQuery } from '../channels/channels-query.ts';
import { RestDialog } from '../channels/rest-dialog.tsx';
import { TestDialog } from '../channels/test-dialog.tsx';
import { attentionQuery } from './attention-query.ts';

type Action = Finding['actions'][number];

const ACTIONS: Readonly<Record<Action, { readonly label: string; readonly call: Call }>> = {
  test_channel: { label: 'Test', call: 'POST /admin/v1/channels/{name}/test' },
  rest_channel: { label: 'Rest', call: 'POST /admin/v1/channels/{name}/rest' },
  wake_channel: { label: 'Wake', call: 'POST /admin/v1/channels/{name}/wake' },
};

/** The buttons that do something about a finding, of those that the person may use. */
export function FindingActions({ of: finding }: { of: Finding }) {
  const may = useMay();
  const [channel] = finding.about.channels;
  const actions = finding.actions.filter((action) => may(ACTIONS[action].call));
  if (channel === undefined || actions.length === 0) return null;
  return <ChannelActions channel={channel} model={modelOf(finding)} actions={actions} />;
}

/** The one model that a finding is about; null: it is about the channel as a whole. */
const modelOf = ({ kind, subject }: Finding): string | null =>
  kind === 'model_slow' || kind === 'model_failing' ? subject : null;

interface ChannelActionsProps {
  readonly channel: string;
  readonly model: string | null;
  readonly actions: readonly Action[];
}

function ChannelActions({ channel: name, model, actions }: ChannelActionsProps) {
  const queries = useQueryClient();
  const [opened, setOpened] = useState<Action>();
  const { data: channels } = useQuery({ ...channelsQuery, enabled: opened !== undefined });
  const channel = opened && channels?.find((one) => one.name === name);
  const renew = () => queries.invalidateQueries({ queryKey: attentionQuery.queryKey });
  const wake = useMutation({
    mutationFn: () => api.POST('/admin/v1/channels/{name}/wake', { params: { path: { name } }, body: {} }),
    onSuccess: renew,
    onError: ({ message }) => notify({ color: 'red', title: `Cannot wake ${name}`, message }),
  });
  const close = () => {
    setOpened(undefined);
    void renew();
  };
  return (
    <>
      {actions.map((action) => (
        <Button
          key={action}
          size="compact-xs"
          variant="default"
          aria-label={`${ACTIONS[action].label} ${name}`}
          loading={action === 'wake_channel' && wake.isPending}
          onClick={() => (action === 'wake_channel' ? wake.mutate() : setOpened(action))}
        >
          {ACTIONS[action].label}
        </Button>
      ))}
      {channel && opened === 'test_channel' && <TestDialog of={channel} onClose={close} />}
      {channel && opened === 'rest_channel' && <RestDialog of={channel} model={model} onClose={close} />}
    </>
  );
}
