import { Alert, Autocomplete, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import type { Channel, ChannelTest } from '../../api/types.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { milliseconds } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import { KeySelect } from '../traffic/key-select.tsx';
import { channelsQuery } from './channels-query.ts';

interface TestDialogProps {
  readonly of: Channel;
  readonly onClose: () => void;
}

/** Sends a request to this channel alone, and shows what came of it. */
export function TestDialog({ of: channel, onClose }: TestDialogProps) {
  const queries = useQueryClient();
  const [keyId, setKeyId] = useState<string>();
  const [model, setModel] = useState('');
  const test = useMutation({
    mutationFn: (chosen: string) =>
      bodyOf(
        api.POST('/admin/v1/channels/{name}/test', {
          params: { path: { name: channel.name } },
          body: { keyId: chosen, ...(model.trim() !== '' && { model: model.trim() }) },
        }),
      ),
    // The request may have ended a rest, or begun one.
    onSuccess: () => queries.invalidateQueries({ queryKey: channelsQuery.queryKey }),
  });
  return (
    <Dialog onClose={onClose} title={`Test ${channel.name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (keyId !== undefined) test.mutate(keyId);
        }}
      >
        <Stack gap="sm">
          <Text size="sm">
            Sends a minimal text request to this channel only, even if it is resting. The request counts
            against the key that you choose.
          </Text>
          <KeySelect
            label="Key"
            placeholder="Find a key"
            state="active"
            chosenId={keyId}
            onChoose={setKeyId}
            // It has the focus first: its options would cover the buttons.
            openOnFocus={false}
            required
            data-autofocus
          />
          <Autocomplete
            label="Model"
            description="Empty: the first text model with a route to this channel."
            data={channel.models.filter((name) => !name.includes('*'))}
            value={model}
            onChange={setModel}
          />
          <div role="status">{test.data && <Result of={test.data} />}</div>
          {test.error && (
            <Alert color="red" variant="light" role="alert">
              {test.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" loading={test.isPending} disabled={keyId === undefined}>
              Send
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function Result({
  of: { isOk, model, status, error, detail, firstOutputMs, totalMs, requestId },
}: {
  of: ChannelTest;
}) {
  const times = [
    firstOutputMs === null ? [] : [`first output after ${milliseconds(firstOutputMs)}`],
    [`${milliseconds(totalMs)} in total`],
  ].flat();
  return (
    <Alert
      color={isOk ? 'teal' : 'red'}
      variant="light"
      title={isOk ? 'Working' : `Not working${status === null ? '' : `: status ${status}`}`}
    >
      <Stack gap={4}>
        {error !== null && <Text size="sm">{error}</Text>}
        {detail !== null && <Text size="sm">Detail: {detail}</Text>}
        <Text size="sm">
          {model}, {times.join(', ')}
        </Text>
        <PageLink to="/requests" search={{ request: requestId }}>
          View request
        </PageLink>
      </Stack>
    </Alert>
  );
}
