import { Alert, Button, FileButton, Group, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import type { CheckedConfiguration } from '../../api/types.ts';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { Names } from '../facts.tsx';
import { MistakeList } from './mistake-list.tsx';
import { YamlEditor, type YamlEditorHandle } from './yaml-editor.tsx';

interface CheckConfigurationProps {
  /** The text to begin with; null: there is none to be shown. */
  readonly loaded: string | null;
  readonly path: string;
}

const PAUSE_MS = 500;

/** Checks a pasted file as the services would, while it is written. It stays in this page, and nothing is deployed. */
export function CheckConfiguration({ loaded, path }: CheckConfigurationProps) {
  const [text, setText] = useState('');
  const [checkedText] = useDebouncedValue(text, PAUSE_MS);
  const editor = useRef<YamlEditorHandle>(null);
  const check = useQuery({
    queryKey: ['configuration-check', checkedText],
    queryFn: () => bodyOf(api.POST('/admin/v1/configuration/check', { body: { text: checkedText } })),
    enabled: checkedText.trim() !== '',
    placeholderData: keepPreviousData,
    // A file may hold secrets: it is not kept once the page is left.
    gcTime: 0,
  });
  const isEmpty = text.trim() === '';
  const result = isEmpty ? undefined : check.data;

  return (
    <Stack gap="sm">
      <Group gap="xs">
        {loaded !== null && (
          <Button size="xs" variant="default" onClick={() => setText(loaded)}>
            Start from the loaded file
          </Button>
        )}
        <FileButton accept=".yaml,.yml" onChange={(file) => void file?.text().then(setText)}>
          {(props) => (
            <Button size="xs" variant="default" {...props}>
              Open a file
            </Button>
          )}
        </FileButton>
        {!isEmpty && (
          <Button size="xs" variant="subtle" color="gray" onClick={() => setText('')}>
            Clear
          </Button>
        )}
      </Group>
      <div aria-live="polite">
        {check.error && !isEmpty ? (
          <PageFailed error={check.error} reset={() => void check.refetch()} />
        ) : result ? (
          <Result of={result} path={path} onGoTo={(line, column) => editor.current?.goTo(line, column)} />
        ) : (
          <Text size="sm" c="dimmed">
            Paste a whole <code>gateway.yaml</code> below. It is checked exactly as the services check it, and
            nothing is deployed.
          </Text>
        )}
      </div>
      <YamlEditor
        label="Configuration to check"
        text={text}
        onChange={setText}
        mistakes={result?.mistakes ?? NO_MISTAKES}
        ref={editor}
      />
    </Stack>
  );
}

const NO_MISTAKES: CheckedConfiguration['mistakes'] = [];

interface ResultProps {
  readonly of: CheckedConfiguration;
  readonly path: string;
  readonly onGoTo: (line: number, column: number) => void;
}

function Result({
  of: { isValid, mistakes, channels, models, unknownVariables },
  path,
  onGoTo,
}: ResultProps) {
  if (!isValid)
    return (
      <Alert
        color="red"
        variant="light"
        icon={<IconAlertTriangle aria-hidden />}
        title={mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`}
      >
        <MistakeList of={mistakes} onGoTo={onGoTo} />
      </Alert>
    );
  return (
    <Alert
      color="teal"
      variant="light"
      icon={<IconCircleCheck aria-hidden />}
      title="This configuration is valid"
    >
      <Text size="sm" c="var(--mantine-color-text)">
        {channels} channels, {models} models. To deploy it, save it as <code>{path}</code>, with its secrets.
        The services reload the file.
      </Text>
      {unknownVariables.length > 0 && (
        <Group gap="xs" mt="xs">
          <Text size="sm" c="var(--mantine-color-text)">
            The services need these variables:
          </Text>
          <Names of={unknownVariables} />
        </Group>
      )}
    </Alert>
  );
}
