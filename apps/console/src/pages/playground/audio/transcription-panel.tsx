import { Alert, Button, Code, FileInput, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconFileMusic, IconMicrophone, IconPlayerStop } from '@tabler/icons-react';
import { useState } from 'react';
import { EmptyState } from '../../../parts/empty-state.tsx';
import { duration } from '../../../parts/numbers.ts';
import { useDesk } from '../desk.ts';
import { useLive } from '../exchange/live.ts';
import { ModelField, useModelNames } from '../model-fields.tsx';
import type { PanelProps } from '../playground-search.ts';
import { stopUnlessDialog } from '../prompt-box.tsx';
import { RunList } from '../run-list.tsx';
import {
  NO_TRANSCRIPT,
  readTranscript,
  STREAMED_FORMATS,
  TRANSCRIPT_FORMATS,
  type TranscriptionAnswer,
  transcriptionCall,
} from './transcribe.ts';
import { useRecorder } from './use-recorder.ts';

/** A recording that is written down. */
export function TranscriptionPanel({ keyId, search, change }: PanelProps) {
  const { transcriptions } = useDesk();
  const runs = useLive(transcriptions.live);
  const [first = ''] = useModelNames('transcription');
  const model = search.models?.[0] ?? first;
  const format = TRANSCRIPT_FORMATS.find((one) => one === search.format) ?? 'json';
  const { language, stream: isStreamed = false } = search;
  const mayStream = STREAMED_FORMATS.includes(format);
  const [file, setFile] = useState<File | null>(null);
  const recorder = useRecorder(setFile);
  const hindrance =
    keyId === undefined
      ? 'Choose a key first.'
      : model === ''
        ? 'Choose a model first.'
        : file === null
          ? 'Choose a file, or record one.'
          : undefined;
  const send = (): void => {
    if (keyId === undefined || file === null) return;
    const call = transcriptionCall({ model, file, language, format, isStreamed });
    transcriptions.start({ call, keyId, first: NO_TRANSCRIPT, read: readTranscript });
  };
  useHotkeys(
    [
      ['mod+Enter', () => hindrance === undefined && send()],
      ['Escape', () => stopUnlessDialog(transcriptions.stopAll), { preventDefault: false }],
    ],
    [],
  );

  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-end">
        <ModelField kind="transcription" model={model} onChange={(name) => change({ models: [name] })} />
        <Select
          flex="1 1 130px"
          label="Format"
          allowDeselect={false}
          data={[...TRANSCRIPT_FORMATS]}
          value={format}
          onChange={(value) => change({ format: value ?? undefined })}
        />
        <TextInput
          flex="1 1 120px"
          label="Language"
          placeholder="en (default: detected)"
          value={language ?? ''}
          onChange={(event) => change({ language: event.currentTarget.value || undefined })}
        />
        <Switch
          mb={8}
          label="Stream"
          disabled={!mayStream}
          checked={isStreamed && mayStream}
          onChange={(event) => change({ stream: event.currentTarget.checked || undefined })}
        />
      </Group>
      <Group gap="sm" align="flex-end">
        <FileInput
          flex="1 1 220px"
          label="Recording"
          placeholder="Choose a file"
          accept="audio/*,video/mp4,video/webm,.flac,.m4a,.ogg,.oga,.opus"
          clearable
          clearButtonProps={{ 'aria-label': 'Remove the recording' }}
          leftSection={<IconFileMusic size={16} aria-hidden />}
          value={file}
          onChange={setFile}
        />
        {recorder.seconds !== undefined ? (
          <Button
            color="red"
            variant="light"
            leftSection={<IconPlayerStop size={16} aria-hidden />}
            onClick={recorder.stop}
          >
            Stop recording: {duration(recorder.seconds)}
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconMicrophone size={16} aria-hidden />}
            onClick={() => void recorder.start()}
          >
            Record
          </Button>
        )}
        <Button disabled={hindrance !== undefined} onClick={send}>
          Transcribe
        </Button>
      </Group>
      {recorder.problem !== undefined && (
        <Alert color="orange" variant="light" role="alert" p="xs">
          <Text size="sm" c="var(--mantine-color-text)">
            {recorder.problem}
          </Text>
        </Alert>
      )}
      {hindrance !== undefined && (
        <Text size="xs" c="dimmed" ta="end">
          {hindrance}
        </Text>
      )}
      <RunList
        runs={runs}
        waiting="Transcribing …"
        whenEmpty={
          <EmptyState icon={IconFileMusic} title="No transcripts yet">
            Choose a recording or make one. The browser asks for the microphone when you press Record.
          </EmptyState>
        }
      >
        {(answer) => <TranscriptView of={answer} />}
      </RunList>
    </Stack>
  );
}

const TranscriptView = ({ of: { text, json } }: { of: TranscriptionAnswer }) => (
  <Stack gap="xs">
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Text>
    {json !== null && (
      <Code block mah={320} style={{ overflow: 'auto' }} tabIndex={0} aria-label="Full transcript">
        {JSON.stringify(json, null, 2)}
      </Code>
    )}
  </Stack>
);
