import { Alert, Button, Group, List, Loader, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Configuration, Draft } from '../../../api/types.ts';
import { channelsQuery } from '../../channels/channels-query.ts';
import { configurationQuery } from '../configuration-query.ts';
import { DraftChanges } from '../edit/draft-changes.tsx';
import { SaveDraft } from '../edit/save-draft.tsx';
import { TakeText } from '../edit/take-text.tsx';
import type { OpenDraft } from '../edit/use-draft.ts';
import { MistakeList } from '../mistake-list.tsx';

interface ApplyChannelProps {
  readonly draft: OpenDraft;
  readonly result: Draft;
  readonly configuration: Configuration;
  readonly channel: string;
  /** The variable that the services need for the key; empty: none. */
  readonly variable: string;
  /** The channel is in use. */
  readonly onApplied: () => void;
  readonly onBack: () => void;
}

/** What changes, and how it takes effect: at once where the database has the configuration, else by the file. */
export function ApplyChannel(props: ApplyChannelProps) {
  const { draft, result, channel, onApplied, onBack } = props;
  const [isSaving, setSaving] = useState(false);
  const { mistakes } = result;
  return (
    <Stack gap="sm">
      {mistakes.length > 0 ? (
        <Alert color="red" variant="light" title={`${mistakes.length} to correct before it can be applied`}>
          <MistakeList of={mistakes} />
        </Alert>
      ) : (
        <DraftChanges of={result} />
      )}
      {mistakes.length === 0 && result.base === null && <FileSteps {...props} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
        {result.base !== null && (
          <Button disabled={mistakes.length > 0} onClick={() => setSaving(true)}>
            Apply…
          </Button>
        )}
      </Group>
      {isSaving && result.base !== null && (
        <SaveDraft
          of={result}
          base={draft.base ?? result.base}
          proposedReason={`Add the provider ${channel}`}
          onSaved={onApplied}
          onClose={() => setSaving(false)}
        />
      )}
    </Stack>
  );
}

const LOOK_EVERY_MS = 2_000;

/** The file is the truth: what a person does with it, and whether the gateway has taken it. */
function FileSteps({ result, configuration, channel, variable, onApplied }: ApplyChannelProps) {
  const { path } = configuration;
  const isNew = configuration.text === null;
  const channels = useQuery({ ...channelsQuery, refetchInterval: LOOK_EVERY_MS });
  const { data: now = configuration } = useQuery({ ...configurationQuery, refetchInterval: LOOK_EVERY_MS });
  const isThere = channels.data?.some(({ name }) => name === channel) === true;
  useEffect(() => {
    if (isThere) onApplied();
  }, [isThere, onApplied]);
  const text = isNew ? result.text : result.diff;
  return (
    <Stack gap="sm">
      <List type="ordered" size="sm" spacing="xs">
        {variable !== '' && (
          <List.Item>
            Give the services the variable <code>{variable}</code>, such as in <code>.env</code>. If it is
            new, restart them.
          </List.Item>
        )}
        <List.Item>
          {isNew ? (
            <>
              Save the text as <code>{path}</code>.
            </>
          ) : (
            <>
              Apply the diff to <code>{path}</code>, as with <code>git apply</code>.
            </>
          )}{' '}
          The services load it within a second.
        </List.Item>
      </List>
      {text !== null && (
        <Group gap="xs">
          <TakeText
            of={text}
            what={isNew ? 'the text' : 'the diff'}
            fileName={isNew ? 'gateway.yaml' : 'gateway.diff'}
          />
        </Group>
      )}
      {now.mistakes.length > 0 && (
        <Alert color="red" variant="light" title="The file has mistakes, so the one before stays in use">
          <MistakeList of={now.mistakes} />
        </Alert>
      )}
      <Group gap="xs" role="status">
        <Loader size="xs" aria-hidden />
        <Text size="sm">
          Waiting until {path} has the channel {channel} …
        </Text>
      </Group>
    </Stack>
  );
}
