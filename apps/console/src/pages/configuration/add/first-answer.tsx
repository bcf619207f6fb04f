import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import type { ChannelTest } from '../../../api/types.ts';
import { milliseconds } from '../../../parts/numbers.ts';
import { PageLink } from '../../../parts/page/page-link.tsx';
import { keysQuery } from '../../keys/keys-query.ts';
import { Figure, MAX_READS, Recorded, recordQuery } from '../../playground/exchange/request-figures.tsx';
import { KeySelect } from '../../traffic/key-select.tsx';
import classes from './add.module.css';

interface FirstAnswerProps {
  readonly channel: string;
  /** The text models that callers can name. */
  readonly models: readonly string[];
  /** The key that was made on the way; null: none. */
  readonly keyId: string | null;
  readonly onDone: () => void;
}

/** How often a service that has not followed the change yet is asked again. */
const MAX_TRIES = 15;
const PAUSE_MS = 1_000;

/** Sends a question to the new channel alone, and shows what came of it. */
export function FirstAnswer({ channel, models, keyId, onDone }: FirstAnswerProps) {
  const { data: keys } = useInfiniteQuery(keysQuery({ search: '', state: 'active' }));
  const [only, ...others] = keys?.pages[0]?.data ?? [];
  const [chosenKey, setChosenKey] = useState(keyId ?? undefined);
  const key = chosenKey ?? (others.length === 0 ? only?.id : undefined);
  const [model, setModel] = useState<string | null>(models[0] ?? null);
  const ask = useMutation({
    mutationFn: (of: { keyId: string; model: string }) => askUntilThere(channel, of),
  });
  if (models.length === 0)
    return (
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          None of the chosen models answers text. Try them with a request of their kind:{' '}
          <PageLink to="/playground">Playground</PageLink>
        </Text>
        <Button onClick={onDone}>Done</Button>
      </Stack>
    );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (key !== undefined && model !== null) ask.mutate({ keyId: key, model });
      }}
    >
      <Stack gap="sm" maw={640}>
        <Text size="sm">
          Sends "Answer with the word OK." to {channel} alone. It counts against the key that you choose.
        </Text>
        <Group align="flex-end" gap="sm">
          <KeySelect
            flex="1 1 200px"
            label="Key"
            placeholder="Find a key"
            state="active"
            chosenId={key}
            onChoose={setChosenKey}
            required
          />
          <Select
            flex="1 1 200px"
            label="Model"
            data={[...models]}
            value={model}
            onChange={setModel}
            searchable
            limit={100}
            allowDeselect={false}
          />
          <Button type="submit" loading={ask.isPending} disabled={key === undefined || model === null}>
            {ask.data === undefined ? 'Send' : 'Send again'}
          </Button>
        </Group>
        <div aria-live="polite">{ask.data && <Answered of={ask.data} channel={channel} />}</div>
        {ask.error && (
          <Alert color="red" variant="light" role="alert">
            {ask.error.message}
          </Alert>
        )}
        <Group>
          <Button variant={ask.data?.isOk === true ? 'filled' : 'default'} onClick={onDone}>
            Done
          </Button>
          <PageLink to={`/channels/${encodeURIComponent(channel)}`}>View channel</PageLink>
        </Group>
      </Stack>
    </form>
  );
}

/** The services follow a change within two seconds; until then they do not know the model. */
async function askUntilThere(channel: string, body: { keyId: string; model: string }): Promise<ChannelTest> {
  const params = { path: { name: channel } };
  for (let tries = 1; ; tries += 1) {
    const test = await bodyOf(api.POST('/admin/v1/channels/{name}/test', { params, body }));
    if (test.status !== 404 || tries === MAX_TRIES) return test;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function Answered({ of: test, channel }: { of: ChannelTest; channel: string }) {
  const { isOk, model, status, error, detail, answer, firstOutputMs, totalMs, requestId } = test;
  const record = useQuery(recordQuery(requestId, isOk ? MAX_READS.other : MAX_READS.failed));
  return (
    <Alert
      color={isOk ? 'teal' : 'red'}
      variant="light"
      title={isOk ? 'The first answer' : `No answer${status === null ? '' : `: status ${status}`}`}
      styles={{ title: { color: 'var(--mantine-color-text)' } }}
    >
      <Stack gap="xs">
        {answer !== null && (
          <Text size="sm" c="var(--mantine-color-text)" className={classes.answer}>
            {answer}
          </Text>
        )}
        {[error, detail].map(
          (text) =>
            text !== null && (
              <Text key={text} size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
                {text}
              </Text>
            ),
        )}
        <Group gap="2px 16px" role="group" aria-label="Figures" c="var(--mantine-color-text)">
          <Figure name="model">{model}</Figure>
          <Figure name="channel">{record.data?.channel ?? channel}</Figure>
          {firstOutputMs !== null && <Figure name="first output">{milliseconds(firstOutputMs)}</Figure>}
          <Figure name="total">{milliseconds(totalMs)}</Figure>
          {record.data && <Recorded of={record.data} />}
        </Group>
        {record.data?.costMicroUsd === null && (
          <Text size="xs" c="var(--mantine-color-text)">
            The model has no price yet: set one for it in the configuration.
          </Text>
        )}
        <PageLink to="/requests" search={{ request: requestId }} look="quiet">
          View request
        </PageLink>
      </Stack>
    </Alert>
  );
}
